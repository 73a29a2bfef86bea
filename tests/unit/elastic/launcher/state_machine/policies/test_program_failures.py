# SPDX-License-Identifier: Apache-2.0
"""Whether a program can work at all."""

from __future__ import annotations

from springtide.elastic.launcher.state_machine.policies.failures import Failure
from springtide.elastic.launcher.state_machine.policies.program_failures import ProgramFailures


def own(id_: int, host: str) -> Failure:
    return Failure(id_, str(id_), host, "exited with code 1", own=True)


def killed(id_: int, host: str) -> Failure:
    return Failure(id_, str(id_), host, "was killed by SIGKILL")


def test_a_program_that_failed_on_some_hosts_may_work_on_others() -> None:
    blame = ProgramFailures()
    blame.failed(own(0, "a"), 1)
    assert not blame.everywhere({"a", "b"})
    blame.failed(own(1, "b"), 1)
    assert blame.everywhere({"a", "b"})


def test_a_host_where_it_trains_is_not_to_blame_for_what_was() -> None:
    blame = ProgramFailures()
    blame.failed(own(0, "a"), 1)
    blame.trained("a")
    blame.failed(own(1, "b"), 1)
    assert not blame.everywhere({"a", "b"})


def test_a_host_where_nothing_starts_does_not_count_by_itself() -> None:
    blame = ProgramFailures()
    blame.not_started("b")
    assert not blame.everywhere({"b"})
    blame.failed(own(0, "a"), 0)
    assert blame.everywhere({"a", "b"})
    blame.started("b")
    assert not blame.everywhere({"a", "b"})


def test_who_fails_beside_one_that_was_killed_is_not_to_blame() -> None:
    blame = ProgramFailures()
    blame.failed(killed(0, "a"), 1)
    blame.failed(own(1, "a"), 1)
    assert not blame.everywhere({"a"})
    blame.failed(own(2, "a"), 2)
    assert blame.everywhere({"a"})


def test_a_host_that_comes_back_is_another_one() -> None:
    blame = ProgramFailures()
    blame.failed(own(0, "a"), 0)
    blame.listed(["b"])
    blame.listed(["a"])
    assert not blame.everywhere({"a"})
