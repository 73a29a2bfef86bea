# SPDX-License-Identifier: Apache-2.0
"""Objects between bytes and plain data: request bodies, stored objects, lists, tables."""
