# SPDX-License-Identifier: Apache-2.0
"""Deletion of dependents, of the content of namespaces, and of old events."""
