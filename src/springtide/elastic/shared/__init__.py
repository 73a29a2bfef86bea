# SPDX-License-Identifier: Apache-2.0
"""Modules that launcher, agents and ranks share, below their protocol.

    addresses         the addresses of this machine
    listeners         server sockets at all addresses of a machine, or at some
    members           the members of a generation
    orphan_guard      ends a process group when the process that owns it is killed
    unauthenticated   limits connections that have not authenticated

Nothing here imports the protocol or either side of it.
"""
