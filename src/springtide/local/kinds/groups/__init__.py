# SPDX-License-Identifier: Apache-2.0
"""Kinds outside the core group, a module per API group."""
