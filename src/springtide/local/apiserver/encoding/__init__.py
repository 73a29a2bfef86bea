# SPDX-License-Identifier: Apache-2.0
"""Conversion of objects between bytes and plain data: request bodies, stored objects, lists, tables."""
