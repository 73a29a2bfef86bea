# SPDX-License-Identifier: Apache-2.0
"""Hosts and their slots, in the formats that users write and scripts print. Pure.

    -H               a:2,b:4,c
    hostfile         a slots=2   |   a:2   |   a max_slots=4   |   a            with # comments
    discovery        a:2   |   a   one per line, in any order; a repeated line is the same host

A host without slots has `--slots-per-host` slots; without that option one, and an error for discovery.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")
MOST: Final = 1 << 16
"""The limit of slots of a host, and of ranks of a run; a larger number is a typing error."""
_SHOWN: Final = 10
_ASSIGNED: Final = re.compile(r"\s*=\s*")


class HostsError(ValueError):
    """An invalid host list; states where and why."""


def from_option(text: str, slots_per_host: int | None = None) -> dict[str, int]:
    """The value of -H."""
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    if not entries:
        raise HostsError("-H: no host is named; it takes for example a:2,b:2")
    return _added_up(_entry(entry, slots_per_host or 1, "-H") for entry in entries)


def from_hostfile(text: str, name: str, slots_per_host: int | None = None) -> dict[str, int]:
    """A host with several lines has the sum of their slots."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = _ASSIGNED.sub("=", line.partition("#")[0]).split()
        if words:
            found.append(_hostfile_line(words, slots_per_host or 1, f"{name}, line {number}"))
    if not found:
        raise HostsError(f"{name}: no host is named")
    return _added_up(found)


def from_discovery(text: str, slots_per_host: int | None = None) -> dict[str, int]:
    """The output of a discovery script, which may list no host."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        where = f"line {number}"
        if ":" not in line and slots_per_host is None:
            raise HostsError(f"{where}: {line.strip()!r} has no slots; print host:slots or give --slots-per-host")
        host, slots = _entry(line.strip(), slots_per_host or 1, where)
        found[host] = max(slots, found.get(host, 0))
    return found


def total(hosts: Mapping[str, int]) -> int:
    return sum(hosts.values())


def described(hosts: Mapping[str, int]) -> str:
    """Shortened to the first hosts if there are many."""
    words = [f"{host}:{slots}" for host, slots in islice(hosts.items(), _SHOWN)]
    if len(hosts) > _SHOWN:
        words.append(f"and {len(hosts) - _SHOWN} more")
    return ", ".join(words) or "none"


def _hostfile_line(words: list[str], slots: int, where: str) -> tuple[str, int]:
    host, slots = _entry(words[0], slots, where)
    for word in words[1:]:
        key, _, value = word.partition("=")
        if key == "slots":
            slots = _number(value, where)
        elif key not in ("max_slots", "max-slots"):
            raise HostsError(f"{where}: {word!r} is not known here; a line is `host slots=2` or `host:2`")
    return host, slots


def _entry(entry: str, slots: int, where: str) -> tuple[str, int]:
    host, colon, given = entry.partition(":")
    if not _NAME.fullmatch(host):
        raise HostsError(f"{where}: {entry!r} does not begin with the name of a host")
    return host, _number(given, where) if colon else slots


def _number(text: str, where: str) -> int:
    if not text.strip().isdecimal():
        raise HostsError(f"{where}: {text!r} is no number of slots")
    if len(text.strip()) > len(str(MOST)) or int(text) > MOST:
        raise HostsError(f"{where}: {text.strip()[:20]} slots are too many; a host has {MOST} or fewer")
    return int(text)


def _added_up(entries: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for host, slots in entries:
        found[host] = found.get(host, 0) + slots
    return found
