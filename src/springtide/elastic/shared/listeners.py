# SPDX-License-Identifier: Apache-2.0
"""Listening sockets, at all addresses of this machine or at some; over IPv4 and IPv6."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Sequence
from typing import Final

_TRIES: Final = 50


def everywhere(backlog: int) -> list[socket.socket]:
    if socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):
            return [socket.create_server(("::", 0), family=socket.AF_INET6, backlog=backlog, dualstack_ipv6=True)]
    return [socket.create_server(("", 0), backlog=backlog)]


def at(addresses: Sequence[str], backlog: int) -> list[socket.socket]:
    """A socket for each address, all with the same port."""
    tries = 0
    while True:
        tries += 1
        with contextlib.ExitStack() as opened:
            try:
                sockets = _opened(addresses, backlog, opened)
            except OSError as error:
                if error.errno != errno.EADDRINUSE or tries == _TRIES:
                    raise
                continue  # the port that was free at one address is not at another
            opened.pop_all()
            return sockets


def _opened(addresses: Sequence[str], backlog: int, opened: contextlib.ExitStack) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    for address in addresses:
        port = sockets[0].getsockname()[1] if sockets else 0
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sockets.append(opened.enter_context(socket.create_server((address, port), family=family, backlog=backlog)))
    return sockets
