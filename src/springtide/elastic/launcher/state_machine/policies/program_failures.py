# SPDX-License-Identifier: Apache-2.0
"""Whether the program fails on every host: the hosts on which it failed by itself. Pure.

A program that failed by itself on every host that it could be started on is not started again. A rank that was killed,
or lost with its host, is not a failure of the program. Neither is a failure of ranks that ran beside it: they may have
failed because it was gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from springtide.elastic.launcher.state_machine.policies.failures import Failure


class ProgramFailures:
    def __init__(self) -> None:
        self._failed_on: set[str] = set()
        """Hosts where the program failed by itself, and has not trained since."""
        self._unstarted: set[str] = set()
        """Hosts where the last start failed."""
        self._wake = 0
        """Workers with lower ids ran beside one that was killed or lost."""
        self.anybody = False
        """Whether any rank that ran has failed."""

    def listed(self, hosts: Iterable[str]) -> None:
        """A host that is listed again later is not the one that failed."""
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
        """A failure of a rank that ran, and the youngest worker that ran beside it."""
        self.anybody = True
        if not failure.own:
            self._wake = newest + 1
        elif failure.id >= self._wake:
            self._failed_on.add(failure.host)

    def everywhere(self, hosts: Set[str]) -> bool:
        return bool(self._failed_on) and self._failed_on | self._unstarted >= hosts
