# SPDX-License-Identifier: Apache-2.0
"""How objects are changed and who owns which of their fields: the three patch types, server-side apply, managedFields.

Called by the API server's write verbs. Pure functions on decoded objects and `schema.node.Node` graphs: nothing here
reads a clock, knows a kind by name or mutates an argument (`managed_fields.track` excepted, which says so). Results
share unchanged parts with their inputs, so a caller that goes on to change a result in place hands in its own copy.
"""
