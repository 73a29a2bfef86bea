# SPDX-License-Identifier: Apache-2.0
"""The proxies of the open service addresses, reconciled with the table. Standard library only."""

from __future__ import annotations

from springtide.local.network.netd_log import say
from springtide.local.network.proxy.backends import Backends, service_ports
from springtide.local.network.proxy.tcp_proxy import TcpProxy
from springtide.local.network.proxy.udp_proxy import UdpProxy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from springtide.local.network.loop import Loop
    from springtide.local.network.proxy.backends import ServicePort


class Services:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._open: dict[ServicePort, tuple[TcpProxy | UdpProxy, Backends]] = {}

    def apply(self, table: dict[str, Any]) -> None:
        wanted = service_ports(table)
        for service_port in self._open.keys() - wanted.keys():
            self._open.pop(service_port)[0].close()
        for service_port, (targets, affinity) in wanted.items():
            if service_port in self._open:
                proxy, backends = self._open[service_port]
                backends.update(targets, affinity)
                proxy.settle()
            else:
                self._begin(service_port, Backends(targets, affinity))

    def _begin(self, service_port: ServicePort, backends: Backends) -> None:
        try:
            proxy = (TcpProxy if service_port[2] == "TCP" else UdpProxy)(self._loop, service_port, backends)
        except OSError as problem:  # retried with the next table
            say(f"cannot listen on {service_port[2]} {service_port[0]}:{service_port[1]}: {problem}")
            return
        self._open[service_port] = proxy, backends
