# SPDX-License-Identifier: Apache-2.0
"""The pods' uplink to the outside: the first way that works, or the reason why there is none.

pasta and slirp4netns are tools that forward packets for ordinary users through a tun device; root can use `nat`
instead. Each creates the link `uplink` in netd's namespace with an address and a default route; pods leave by that link
under its address. A tool that exits is restarted. Standard library only.
"""

from __future__ import annotations

import os
import socket
from functools import partial

from springtide.local.network.kernel import cabling, nat, netfilter, netlink
from springtide.local.network.kernel.netlink import NEW_ADDRESS, NEW_LINK, NEW_ROUTE, Route
from springtide.local.network.netd_log import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from springtide.local.network.kernel.outside import Outside
    from springtide.local.network.loop import Loop

LINK = "uplink"
_TABLE = "springtide-pods"
_ADDRESS, _GATEWAY = "10.0.2.100", "10.0.2.2"
_LOOK, _PATIENCE, _WATCH = 0.05, 5.0, 2.0
_LOOKING = "still looking for a way out"
_SOMEWHERE = ("192.0.2.1", 9)
"""A reserved address: connecting a datagram socket to it sends nothing, but fails where there is no route out."""


def commands(pid: int, own_user: bool) -> dict[str, list[str]]:
    """The tools to try, the preferred first, with their command lines."""
    user, network = f"/proc/{pid}/ns/user", f"/proc/{pid}/ns/net"
    slirp = ["slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback", "--netns-type=path"]
    if not own_user:
        return {"slirp4netns": [*slirp, network, LINK]}  # pasta drops root and could not enter the namespace
    closed = [word for option in ("-t", "-u", "-T", "-U") for word in (option, "none")]
    place = ["-a", _ADDRESS, "-n", "24", "-g", _GATEWAY, "-I", LINK]
    pasta = ["pasta", "-4", "-f", "-e", "-q", "--config-net", "--no-map-gw", *closed, *place]
    return {
        "pasta": [*pasta, "--userns", user, "--netns", network],
        "slirp4netns": [*slirp, f"--userns-path={user}", network, LINK],
    }


class Uplink:
    def __init__(self, loop: Loop, outside: Outside, cluster: str, own_user: bool) -> None:
        self.name, self.why = "none", "not wanted"
        self._loop, self._outside, self._cluster = loop, outside, cluster
        self._own_user = own_user
        self._commands = commands(os.getpid(), own_user)
        self._left: list[str] = []
        self._failures: list[str] = []
        self._deadline = 0.0

    @property
    def looking(self) -> bool:
        return self.why == _LOOKING

    @property
    def there(self) -> bool:
        return self.name != "none"

    def start(self) -> None:
        self.name, self.why, self._failures = "none", _LOOKING, []
        self._left = [*self._commands, *(() if self._own_user else ("nat",))]
        self._next()

    def _next(self) -> None:
        while self._left:
            name = self._left.pop(0)
            try:
                if name == "nat":
                    self._translate()
                    return
                self._outside.run(self._commands[name])
                self._deadline = self._loop.now() + _PATIENCE
                self._loop.later(_LOOK, partial(self._look, name))
                return
            except OSError as problem:
                self._failures.append(f"{name}: {problem.strerror or problem}")
        self.why = "; ".join(self._failures)
        say(f"pods cannot reach the outside: {self.why}")

    def _look(self, name: str) -> None:
        """Checks whether the started tool has created its link."""
        running, said = self._outside.state()
        if running and _leads_out():
            self._ready(name)
        elif running and self._loop.now() < self._deadline:
            self._loop.later(_LOOK, partial(self._look, name))
        else:
            self._outside.stop()
            self._failures.append(f"{name}: {said or 'it made no way out'}")
            self._next()

    def _ready(self, name: str) -> None:
        try:
            cabling.forward()
            netfilter.send(netfilter.masquerade(_TABLE, LINK))
        except OSError as problem:
            self._outside.stop()
            self._failures.append(f"{name}: address translation is refused: {problem.strerror or problem}")
            self._next()
            return
        self.name, self.why = name, ""
        if name != "nat":
            self._loop.later(_WATCH, self._watch)

    def _watch(self) -> None:
        running, said = self._outside.state()
        if running:
            self._loop.later(_WATCH, self._watch)
            return
        say(f"{self.name} ended, starting again: {said}")
        self.start()

    def _translate(self) -> None:
        namespace = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._outside.translate(namespace, LINK)
        finally:
            os.close(namespace)
        place, route = nat.Place(self._cluster), Route()
        try:
            link = route.index(LINK)
            route.ensure(NEW_ADDRESS, netlink.address(link, place.inside, 30))
            route.change(NEW_LINK, netlink.link_up(link))
            route.replace(NEW_ROUTE, netlink.default_route(place.host))
        finally:
            route.close()
        self._ready("nat")


def _leads_out() -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        return sock.connect_ex(_SOMEWHERE) == 0
