# SPDX-License-Identifier: Apache-2.0
"""The commands of `arena`, one module per verb."""
