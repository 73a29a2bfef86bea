# SPDX-License-Identifier: Apache-2.0
"""Adapters, one per kind."""
