# SPDX-License-Identifier: Apache-2.0
"""Pod groups: their definitions, their placement all at once, their status."""
