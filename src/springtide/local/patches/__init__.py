# SPDX-License-Identifier: Apache-2.0
"""Patches and field ownership: the three patch types, server-side apply, managedFields.

Called by the API server's write verbs. Pure functions on decoded objects and `schema.node.Node` graphs: they read no
clock, treat no kind specially and mutate no argument (except `managed_fields.track`). Results share unchanged parts
with their inputs, so a caller that changes a result in place must pass a copy.
"""
