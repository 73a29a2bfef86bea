# SPDX-License-Identifier: Apache-2.0
"""Whether a program can work at all: on which hosts it failed by itself. Pure.

One that did so on every host that it could be started on is not tried again. A rank that is killed, or lost with its
host, says nothing about its program; nor do those that were there with it, which may have failed for lack of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from springtide.elastic.launcher.state_machine.failures import Failure


class ProgramFailures:
    def __init__(self) -> None:
        self._failed_on: set[str] = set()
        """Where the program failed by itself, and has not trained since."""
        self._unstarted: set[str] = set()
        """Where nothing could be started of late."""
        self._wake = 0
        """Workers below this were there when one was killed or lost."""
        self.anybody = False
        """Whether any rank that ran has failed."""

    def listed(self, hosts: Iterable[str]) -> None:
        """One that comes back later is not the one that failed."""
        known = set(hosts)
        self._failed_on &= known
        self._unstarted &= known

    def started(self, host: str) -> None:
        self._unstarted.discard(host)

    def trained(self, host: str) -> None:
        self._failed_on.discard(host)

    def not_started(self, host: str) -> None:
        self._unstarted.add(host)

    def failed(self, failure: Failure, newest: int) -> None:
        """A rank that ran; and the youngest worker that was there with it."""
        self.anybody = True
        if not failure.own:
            self._wake = newest + 1
        elif failure.id >= self._wake:
            self._failed_on.add(failure.host)

    def everywhere(self, hosts: Set[str]) -> bool:
        return bool(self._failed_on) and self._failed_on | self._unstarted >= hosts
