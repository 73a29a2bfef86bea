# SPDX-License-Identifier: Apache-2.0
"""Completion by TAB: the script, and the offered values."""
