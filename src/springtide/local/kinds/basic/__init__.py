# SPDX-License-Identifier: Apache-2.0
"""The other kinds of the core group: namespaces, nodes, configuration, services, volumes, events."""
