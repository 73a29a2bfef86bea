# SPDX-License-Identifier: Apache-2.0
"""Pod groups: their definitions, their all-or-nothing placement, their status."""
