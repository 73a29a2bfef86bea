# SPDX-License-Identifier: Apache-2.0
"""What launcher, agents and ranks have in common below their protocol.

    addresses         where this machine can be reached
    listeners         server sockets at all addresses of a machine, or at some
    members           who belongs to a generation
    orphan_guard      ends a process group when the process that owns it is killed
    unauthenticated   callers that have not proved yet who they are

Nothing here imports the protocol or either side of it.
"""
