# SPDX-License-Identifier: Apache-2.0
"""Addresses of this machine, and which hosts are this machine."""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import socket
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

_SIOCGIFADDR: Final = 0x8915
LOOPBACK: Final = "127.0.0.1"


def own(interfaces: Sequence[str] = ()) -> list[str]:
    """Addresses of these interfaces, or of all; loopback addresses come last."""
    found = [(name, address) for name in _names() for address in _of(name)]
    if interfaces:
        return [address for name, address in found if name in interfaces]
    every = dict.fromkeys(address for _, address in found) or dict.fromkeys(_guessed())
    return sorted(every, key=is_loopback)


def towards(host: str, interfaces: Sequence[str] = ()) -> list[str]:
    """Addresses at which that host may reach this machine, the likeliest first."""
    candidates = [each for each in own(interfaces) if not is_loopback(each)]
    best = [each for each in _sources(host) if each in candidates]
    return list(dict.fromkeys((*best, *candidates))) or [LOOPBACK]


def is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback


def is_own(host: str) -> bool:
    """Whether a host is this machine. A name that does not resolve is another machine's."""
    if host in ("localhost", socket.gethostname()):
        return True
    mine = set(own())
    return any(address in mine or is_loopback(address) for address in _resolved(host))


def unknown(interfaces: Iterable[str]) -> list[str]:
    """The named interfaces that do not exist."""
    there = set(_names())
    return [name for name in interfaces if name not in there]


def _names() -> list[str]:
    with contextlib.suppress(OSError):
        return [name for _, name in socket.if_nameindex()]
    return []


def _of(interface: str) -> list[str]:
    found = []
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        answer = fcntl.ioctl(probe, _SIOCGIFADDR, struct.pack("256s", interface.encode()[:15]))
        found.append(socket.inet_ntoa(answer[20:24]))
    with contextlib.suppress(OSError):
        for line in Path("/proc/net/if_inet6").read_text().splitlines():
            digits, _, _, scope, _, name = line.split()
            if name == interface and scope == "00":  # global scope, not link-local
                found.append(str(ipaddress.IPv6Address(int(digits, 16))))
    return found


def _guessed() -> list[str]:
    """Addresses by host name and routes, if the system does not list interfaces."""
    return [*_resolved(socket.gethostname()), *_sources("192.0.2.1"), LOOPBACK]


def _sources(host: str) -> list[str]:
    """Source addresses of packets to that host. Nothing is sent."""
    found = []
    for address in _resolved(host):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            found.append(str(probe.getsockname()[0]))
    return found


def _resolved(host: str) -> list[str]:
    with contextlib.suppress(OSError, UnicodeError):
        entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in entries))
    return []
