# SPDX-License-Identifier: Apache-2.0
"""The proxies of the open service addresses, reconciled with the table. Standard library only."""

from __future__ import annotations

from springtide.local.network.netd_log import say
from springtide.local.network.proxy.backends import Backends, doors
from springtide.local.network.proxy.tcp_proxy import TcpProxy
from springtide.local.network.proxy.udp_proxy import UdpProxy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from springtide.local.network.loop import Loop
    from springtide.local.network.proxy.backends import Door


class Services:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._open: dict[Door, tuple[TcpProxy | UdpProxy, Backends]] = {}

    def apply(self, table: dict[str, Any]) -> None:
        wanted = doors(table)
        for door in self._open.keys() - wanted.keys():
            self._open.pop(door)[0].close()
        for door, (targets, affinity) in wanted.items():
            if door in self._open:
                proxy, backends = self._open[door]
                backends.update(targets, affinity)
                proxy.settle()
            else:
                self._begin(door, Backends(targets, affinity))

    def _begin(self, door: Door, backends: Backends) -> None:
        try:
            proxy = (TcpProxy if door[2] == "TCP" else UdpProxy)(self._loop, door, backends)
        except OSError as problem:  # retried with the next table
            say(f"cannot listen on {door[2]} {door[0]}:{door[1]}: {problem}")
            return
        self._open[door] = proxy, backends
