# SPDX-License-Identifier: Apache-2.0
"""Nodes that fall silent, pods that may not stay where they are, and pods that nobody looks after."""
