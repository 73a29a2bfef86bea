# SPDX-License-Identifier: Apache-2.0
"""Node health, taint-based eviction, and garbage collection of pods without a node."""
