# SPDX-License-Identifier: Apache-2.0
"""The judge must see every kind of fault, or its silence means nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.crash_pods import programs
from tests.crash_pods.logs import Account, account
from tests.crash_pods.looking import Life, Traces
from tests.crash_pods.machine import Process
from tests.crash_pods.programs import Wanted, counting, pod
from tests.crash_pods.verdict import (
    is_part,
    judge_ended,
    judge_killed,
    judge_progress,
    judge_traces,
    judge_untouched,
    lacking,
)

from springtide.kube.resources import Obj

BOTH = frozenset(("stdout", "stderr"))
WRITTEN = Account({"stdout": 5, "stderr": 5})
MORE = Account({"stdout": 9, "stderr": 8})
WHOLE = Account({"stdout": 5, "stderr": 5}, BOTH)
BEFORE = Life("p", "u1", "main", 0, started="10:00", process=Process(7, 100), logs=(WRITTEN,))
AFTER = replace(BEFORE, logs=(MORE,))
AGAIN = replace(
    BEFORE,
    restarts=1,
    started="10:05",
    process=Process(8, 200),
    last_exit=137,
    last_reason="Error",
    logs=(WRITTEN, MORE),
)
DEAD = replace(BEFORE, started="", process=None, exit_code=137, reason="Error")
ENDS = Wanted(pod("p", counting(lines=5), policy="Never"), exit_code=0)
ENDED = replace(BEFORE, started="", process=None, exit_code=0, reason="Completed", logs=(WHOLE,))


def _log(*lines: str) -> Account:
    return account(f"2026-11-16T04:30:0{number}Z {line}\n" for number, line in enumerate(lines))


def test_fifty_pods_stand() -> None:
    population = programs.standing()
    replicas = sum(deployment["spec"]["replicas"] for deployment in population.deployments)
    assert len(population.pods) + replicas == 50


# Logs


def test_numbers_of_two_streams_may_be_mixed() -> None:
    found = _log("stdout F 1", "stderr F 1", "stdout F 2", "stdout F end 2", "stderr F 2", "stderr F end 2")
    assert found == Account({"stdout": 2, "stderr": 2}, BOTH)


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("stdout F 1", "stdout F 3"), id="a gap"),
        pytest.param(("stdout F 2",), id="a missing beginning"),
        pytest.param(("stdout F 1", "stdout F 1"), id="twice"),
        pytest.param(("stdout F 1", "stdout F 3", "stdout F 2"), id="out of order"),
        pytest.param(("stdout F 1", "stdout F end 2"), id="a missing last line"),
        pytest.param(("stdout F 1", "stdout F end 1", "stdout F 2"), id="more after the end"),
        pytest.param(("stdout P 1",), id="half a line"),
        pytest.param(("stdout",), id="no line at all"),
        pytest.param(("elsewhere F 1",), id="a stream that does not exist"),
    ],
)
def test_a_fault_in_a_log_is_seen(lines: tuple[str, ...]) -> None:
    assert _log(*lines).faults


def test_a_cut_line_and_a_time_that_goes_back_are_seen() -> None:
    cut = account(["2026-11-16T04:30:00Z stdout F 1\n", "2026-11-16T04:30:00Z stdo"])
    assert (cut.highest["stdout"], cut.faults, cut.torn) == (1, (), True)
    assert account(["2026-11-16T04:30:05Z stdout F 1\n", "2026-11-16T04:30:04Z stdout F 2\n"]).faults


@pytest.mark.parametrize(
    ("given", "whole", "wanted"),
    [
        ("t1 a\nt2 b\n", True, True),
        ("t1 a\n", True, True),
        ("t2 b\n", True, False),
        ("t2 b\n", False, True),
        ("t3 x\n", False, False),
    ],
)
def test_a_log_from_the_api_is_held_against_the_file(given: str, whole: bool, wanted: bool) -> None:
    assert is_part(given, "t1 stdout F a\nt2 stderr F b\n", whole) is wanted
    assert is_part(given, "t1 stdout F a\nt2 stderr F b\nt3 std", whole) is wanted  # while it is being written


# Pods


def test_a_pod_that_noticed_nothing_is_not_complained_about() -> None:
    assert judge_untouched(BEFORE, AFTER) == []
    assert judge_progress(BEFORE, AFTER) == []


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(None, id="gone"),
        pytest.param(replace(AFTER, uid="u2"), id="another pod of that name"),
        pytest.param(replace(AFTER, process=None), id="no process"),
        pytest.param(replace(AFTER, process=Process(7, 200)), id="another process with that number"),
        pytest.param(replace(AFTER, restarts=1), id="restarted"),
        pytest.param(replace(AFTER, started="10:01"), id="another start"),
        pytest.param(replace(AFTER, last_exit=137), id="another past"),
    ],
)
def test_a_pod_that_was_disturbed_is_seen(after: Life | None) -> None:
    assert judge_untouched(BEFORE, after)


def test_a_log_that_does_not_go_on_is_seen() -> None:
    assert judge_progress(BEFORE, BEFORE)
    assert judge_progress(BEFORE, replace(AFTER, logs=(replace(MORE, faults=("a gap",)),)))


def test_what_becomes_of_a_pod_whose_shim_was_killed() -> None:
    assert judge_killed("Always", BEFORE, AGAIN, WRITTEN) == []
    assert judge_killed("Never", BEFORE, DEAD, WRITTEN) == []


@pytest.mark.parametrize(
    ("policy", "after"),
    [
        pytest.param("Always", None, id="gone"),
        pytest.param("Always", AFTER, id="not told"),
        pytest.param("Always", DEAD, id="not restarted"),
        pytest.param("Never", AGAIN, id="restarted against its policy"),
        pytest.param("Always", replace(AGAIN, restarts=2), id="restarted twice"),
        pytest.param("Always", replace(AGAIN, last_exit=0), id="another exit code"),
        pytest.param("Never", replace(DEAD, reason="Completed"), id="another reason"),
        pytest.param("Always", replace(AGAIN, process=None), id="no process"),
        pytest.param("Always", replace(AGAIN, logs=(Account({"stdout": 4, "stderr": 5}), MORE)), id="a line lost"),
        pytest.param("Always", replace(AGAIN, logs=(MORE,)), id="its log overwritten"),
    ],
)
def test_a_fault_after_the_kill_of_a_shim_is_seen(policy: str, after: Life | None) -> None:
    assert judge_killed(policy, BEFORE, after, WRITTEN)


def test_what_becomes_of_a_pod_that_ends_by_itself() -> None:
    assert judge_ended(ENDS, ENDED, killed=False) == []
    assert judge_ended(ENDS, DEAD, killed=True) == []
    assert judge_ended(ENDS, DEAD, killed=False)
    assert judge_ended(ENDS, replace(ENDED, exit_code=1), killed=True)
    assert judge_ended(ENDS, replace(ENDED, restarts=1, logs=(WHOLE, WHOLE)), killed=False)
    assert judge_ended(ENDS, replace(ENDED, logs=(WRITTEN,)), killed=False)


# Waiting


def _seen(phase: str, restarts: int = 0, ready: bool = True) -> Obj:
    told: dict[str, Any] = {
        "name": "main",
        "ready": ready,
        "restartCount": restarts,
        "state": {"running": {"at": "10:00"}},
    }
    return pod("p", counting()) | {"status": {"phase": phase, "containerStatuses": [told]}}


def test_what_is_waited_for() -> None:
    stays, never = Wanted(pod("p", counting())), Wanted(pod("p", counting(), policy="Never"))
    assert not lacking(stays, _seen("Running"))
    assert lacking(stays, None)
    assert lacking(stays, _seen("Running", ready=False))
    assert lacking(stays, _seen("Pending"))
    assert lacking(stays, _seen("Running"), killed_at=0)
    assert not lacking(stays, _seen("Running", restarts=1), killed_at=0)
    assert lacking(never, _seen("Running"), killed_at=0)
    assert not lacking(never, _seen("Failed"), killed_at=0)
    assert lacking(ENDS, _seen("Running"))
    assert not lacking(ENDS, _seen("Succeeded"))


# The machine


POD: Obj = {
    "metadata": {"namespace": "n", "name": "p", "uid": "u1"},
    "status": {"phase": "Running", "podIP": "10.244.1.2"},
}
TRACES = Traces(
    directories=frozenset({"u1"}),
    log_directories=frozenset({"n_p_u1"}),
    sockets=frozenset({"u1"}),
    shims=frozenset({"u1"}),
    cables=frozenset({"pod1.2"}),
)


def test_a_machine_with_nothing_but_its_pods_is_not_complained_about() -> None:
    assert judge_traces([POD], TRACES) == []
    ended = POD | {"status": {"phase": "Failed", "podIP": "10.244.1.2"}}
    assert judge_traces([ended], Traces(directories=TRACES.directories, log_directories=TRACES.log_directories)) == []


@pytest.mark.parametrize("what", ["directories", "log_directories", "sockets", "shims", "cables"])
def test_what_belongs_to_nobody_is_seen(what: str) -> None:
    assert judge_traces([POD], replace(TRACES, **{what: getattr(TRACES, what) | {"u2"}}))


@pytest.mark.parametrize("what", ["directories", "sockets", "shims", "cables"])
def test_what_is_missing_is_seen(what: str) -> None:
    lacking_one: dict[str, Any] = {what: frozenset()}
    assert judge_traces([POD], replace(TRACES, **lacking_one))


def test_a_mount_is_seen() -> None:
    assert judge_traces([POD], replace(TRACES, mounts=("tmpfs /data/pods/u1",)))
