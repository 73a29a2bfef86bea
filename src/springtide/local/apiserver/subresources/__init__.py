# SPDX-License-Identifier: Apache-2.0
"""Subresources, and objects that are answered but never stored."""
