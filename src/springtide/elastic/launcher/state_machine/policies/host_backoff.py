# SPDX-License-Identifier: Apache-2.0
"""Back-off of hosts: nothing is started on a host after a failure, longer each time. Pure; time is a parameter.

A host that was removed from the list and is listed again is not the one that failed (a new pod of the same name, a
repaired machine), so it may be used at once. Hosts with fewer failures are used first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Rest:
    failures: int
    since: float
    until: float


class HostBackoff:
    def __init__(self, shortest: float, longest: float) -> None:
        self._shortest, self._longest = shortest, longest
        self._rests: dict[str, _Rest] = {}

    def failed(self, host: str, now: float) -> float:
        """The seconds of back-off for the host. Workers of a host that die together are one failure."""
        last = self._rests.get(host)
        if last is not None and now < last.until:
            return last.until - now
        quiet = last is None or now - last.until > self._longest
        failures = 1 if last is None or quiet else last.failures + 1
        seconds = min(self._shortest * (1 << min(failures - 1, 32)), self._longest)
        self._rests[host] = _Rest(failures, now, now + seconds)
        return seconds

    def listed(self, hosts: Iterable[str], now: float) -> None:
        """The hosts that are listed now. The back-off of all others ends."""
        known = set(hosts)
        for host, rest in self._rests.items():
            if host not in known and rest.until > now:
                self._rests[host] = _Rest(rest.failures, rest.since, now)

    def resting(self, now: float) -> dict[str, float]:
        """Hosts in back-off, and until when."""
        return {host: rest.until for host, rest in self._rests.items() if rest.until > now}

    def preferred(self, hosts: Mapping[str, int]) -> dict[str, int]:
        """In the order in which they are to be used."""
        return dict(sorted(hosts.items(), key=lambda each: self._failures(each[0])))

    def _failures(self, host: str) -> int:
        return self._rests[host].failures if host in self._rests else 0
