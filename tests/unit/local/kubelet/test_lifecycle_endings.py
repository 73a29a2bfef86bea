# SPDX-License-Identifier: Apache-2.0
"""The way down: every ending is one wind-down."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.local.kubelet.builders import NOW, a_container, a_pod, a_sidecar, deleted, ended, runs, states

from springtide.local.kubelet.pods.actions import (
    BeginStop,
    DeletePod,
    EndSandbox,
    Finish,
    Forget,
    RequeueAfter,
    SignalStop,
)
from springtide.local.kubelet.pods.lifecycle import Ending, ending, plan
from springtide.local.kubelet.pods.observed import Observed, Stop, Verdict

RUNNING = Observed(sandbox=True, states=states(runs()), start=NOW - 100, phase="Running")


def test_a_deleted_pod_is_stopped_within_the_grace_that_the_deletion_asked_for() -> None:
    pod = a_pod(metadata=deleted(5), terminationGracePeriodSeconds=30)
    assert plan(pod, RUNNING, NOW) == (BeginStop("main", 0, 5.0, "Stopping container main"),)


def test_the_signal_waits_for_the_pre_stop_hook() -> None:
    pod = a_pod(metadata=deleted(5))
    seen = replace(RUNNING, stops={"main": Stop(0, NOW, 5.0, hook_running=True)})
    assert plan(pod, seen, NOW + 1) == ()
    seen = replace(RUNNING, stops={"main": Stop(0, NOW, 5.0)})
    assert plan(pod, seen, NOW + 1) == (SignalStop("main", 4.0),)


def test_however_long_the_hook_took_two_seconds_are_left() -> None:
    seen = replace(RUNNING, stops={"main": Stop(0, NOW, 5.0)})
    assert plan(a_pod(metadata=deleted(5)), seen, NOW + 5) == (SignalStop("main", 2.0),)
    assert plan(a_pod(metadata=deleted(5)), seen, NOW - 3600) == (SignalStop("main", 5.0),)  # the clock was set back


def test_a_shorter_grace_begins_the_stop_anew_and_a_longer_one_does_not() -> None:
    seen = replace(RUNNING, stops={"main": Stop(0, NOW, 30.0, signalled=True)})
    assert plan(a_pod(metadata=deleted(1)), seen, NOW + 2) == (BeginStop("main", 0, 1.0, "Stopping container main"),)
    assert plan(a_pod(metadata=deleted(60)), seen, NOW + 2) == ()


def test_after_the_containers_the_sandbox_then_the_report_then_the_object() -> None:
    pod = a_pod(metadata=deleted())
    seen = replace(RUNNING, states=states(ended(code=143)))
    assert plan(pod, seen, NOW) == (EndSandbox(),)
    assert plan(pod, replace(seen, sandbox=False), NOW) == (Finish(),)
    seen = replace(seen, sandbox=False, finished=True, phase="Failed")
    assert plan(pod, seen, NOW) == (DeletePod(),)
    assert plan(pod, replace(seen, removed=True), NOW) == (Forget(),)


def test_a_pod_that_never_started_is_finished_at_once() -> None:
    assert plan(a_pod(metadata=deleted()), Observed(), NOW) == (Finish(),)


def test_a_pod_whose_object_is_gone_gets_its_own_grace() -> None:
    seen = replace(RUNNING, removed=True)
    assert plan(a_pod(), seen, NOW) == (BeginStop("main", 0, 30.0, "Stopping container main"),)


def test_a_finished_pod_that_nobody_deleted_stays() -> None:
    assert plan(a_pod(), Observed(states=states(ended()), phase="Succeeded", finished=True), NOW) == ()


def test_a_pod_that_is_active_for_too_long_is_stopped() -> None:
    pod = a_pod(activeDeadlineSeconds=100)
    assert ending(pod, RUNNING, NOW) is Ending.DEADLINE
    assert plan(pod, RUNNING, NOW) == (BeginStop("main", 0, 30.0, "Stopping container main"),)
    assert ending(pod, RUNNING, NOW - 1) is None


def test_a_pod_that_its_deadline_ended_is_not_taken_for_one_that_was_done() -> None:
    pod = a_pod(activeDeadlineSeconds=100, restartPolicy="Never", init=(a_container("init"),))
    for left in (ended(code=143), ended("init")):
        assert ending(pod, replace(RUNNING, states=states(left), sandbox=False), NOW + 5) is Ending.DEADLINE


def test_a_pod_that_was_done_before_its_deadline_is_done() -> None:
    pod = a_pod(activeDeadlineSeconds=100, restartPolicy="Never")
    assert ending(pod, replace(RUNNING, states=states(ended(finished=NOW - 1))), NOW + 5) is Ending.DONE


def test_a_pod_that_somebody_declared_failed_is_stopped() -> None:
    assert ending(a_pod(), replace(RUNNING, phase="Failed"), NOW) is Ending.DONE


def test_pods_that_the_agent_closes_are_stopped_and_their_objects_left_alone() -> None:
    seen = replace(RUNNING, closing=True)
    assert plan(a_pod(), seen, NOW) == (BeginStop("main", 0, 30.0, "Stopping container main"),)
    assert plan(a_pod(), replace(seen, states=states(ended(code=143)), sandbox=False), NOW) == (Finish(),)
    finished = replace(seen, states=states(ended(code=143)), sandbox=False, finished=True)
    assert plan(a_pod(metadata=deleted()), finished, NOW) == ()


def test_probes_no_longer_matter() -> None:
    seen = replace(RUNNING, verdicts={"main": Verdict(liveness=False)})
    assert plan(a_pod(metadata=deleted()), seen, NOW) == (BeginStop("main", 0, 30.0, "Stopping container main"),)


# Sidecars go last, in reverse order


def sidecar_pod() -> dict[str, object]:
    return a_pod(a_container("main"), init=(a_sidecar("first"), a_sidecar("second")), metadata=deleted(30))


def stops(*names: str, signalled: tuple[str, ...] = ()) -> dict[str, Stop]:
    return {name: Stop(0, NOW, 30.0, signalled=name in signalled) for name in names}


def test_all_stops_begin_together_so_that_hooks_run_at_once() -> None:
    seen = replace(RUNNING, states=states(runs("first"), runs("second"), runs("main")))
    begun = plan(sidecar_pod(), seen, NOW)
    assert [step.name for step in begun if isinstance(step, BeginStop)] == ["first", "second", "main"]


def test_sidecars_are_signalled_when_the_main_containers_have_ended_last_one_first() -> None:
    pod = sidecar_pod()
    everyone = ("first", "second", "main")
    seen = replace(RUNNING, states=states(runs("first"), runs("second"), runs("main")), stops=stops(*everyone))
    assert SignalStop("main", 30.0) in plan(pod, seen, NOW)
    assert len([step for step in plan(pod, seen, NOW) if isinstance(step, SignalStop)]) == 1
    seen = replace(seen, states=states(runs("first"), runs("second"), ended("main", 143)))
    assert plan(pod, seen, NOW) == (RequeueAfter(30.0), SignalStop("second", 30.0))
    seen = replace(seen, states=states(runs("first"), ended("second"), ended("main", 143)))
    assert plan(pod, seen, NOW) == (SignalStop("first", 30.0),)


def test_at_the_end_of_the_grace_nobody_waits_for_anybody() -> None:
    seen = replace(
        RUNNING, states=states(runs("first"), runs("main")), stops=stops("first", "main", signalled=("main",))
    )
    assert plan(sidecar_pod(), seen, NOW + 30) == (SignalStop("first", 2.0),)


def test_when_the_main_containers_are_done_sidecars_are_stopped_too() -> None:
    pod = a_pod(a_container("main"), init=(a_sidecar("side"),), restartPolicy="Never")
    seen = replace(RUNNING, states=states(runs("side"), ended("main")))
    assert plan(pod, seen, NOW) == (BeginStop("side", 0, 30.0, "Stopping container side"),)
