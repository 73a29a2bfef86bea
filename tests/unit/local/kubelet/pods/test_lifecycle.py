# SPDX-License-Identifier: Apache-2.0
"""The way up and the ordinary life of a pod, as a plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.local.kubelet.builders import NOW, a_container, a_pod, a_sidecar, ended, runs, states

from springtide.kube.resources import Obj
from springtide.local.kubelet.pods.actions import (
    BackOffRestart,
    BeginStop,
    EndSandbox,
    Finish,
    RequeueAfter,
    SignalStop,
    StartContainer,
    StartSandbox,
)
from springtide.local.kubelet.pods.lifecycle import plan
from springtide.local.kubelet.pods.observed import Failure, Observed, Stop, Verdict
from springtide.local.kubelet.pods.restarts import BackOff

UP = Observed(sandbox=True, start=NOW - 100, phase="Pending")


def test_a_new_pod_gets_a_sandbox_first() -> None:
    assert plan(a_pod(), Observed(), NOW) == (StartSandbox(),)


def test_a_sandbox_that_failed_is_tried_again_after_a_pause() -> None:
    seen = Observed(sandbox_failure=Failure("FailedCreatePodSandBox", "no", until=NOW + 3))
    assert plan(a_pod(), seen, NOW) == (RequeueAfter(3.0),)
    assert plan(a_pod(), seen, NOW + 3) == (StartSandbox(),)


def test_all_containers_start_in_order() -> None:
    pod = a_pod(a_container("b"), a_container("a"))
    assert plan(pod, UP, NOW) == (StartContainer("b", 0), StartContainer("a", 0))


def test_nothing_is_to_do_about_a_pod_that_runs() -> None:
    assert plan(a_pod(), replace(UP, states=states(runs())), NOW) == ()


def test_what_could_not_be_started_waits_for_its_pause() -> None:
    seen = replace(UP, failures={"main": Failure("CreateContainerConfigError", "no", until=NOW + 2)})
    assert plan(a_pod(), seen, NOW) == (RequeueAfter(2.0),)
    assert plan(a_pod(), seen, NOW + 2) == (StartContainer("main", 0),)


def test_the_next_requeue_is_the_earliest() -> None:
    pod = a_pod(a_container("a"), a_container("b"), activeDeadlineSeconds=101)
    failures = {"a": Failure("x", "", until=NOW + 2), "b": Failure("x", "", until=NOW + 5)}
    assert plan(pod, replace(UP, failures=failures), NOW) == (RequeueAfter(1.0),)


def test_a_container_waits_for_the_post_start_hook_of_the_one_before() -> None:
    pod = a_pod(a_container("a"), a_container("b"))
    seen = replace(UP, states=states(runs("a")), starting=frozenset({"a"}))
    assert plan(pod, seen, NOW) == ()


# Init containers


def init_pod(*init: Obj, policy: str = "Always") -> Obj:
    return a_pod(a_container("main"), init=init, restartPolicy=policy)


def test_init_containers_run_one_after_the_other() -> None:
    pod = init_pod(a_container("one"), a_container("two"))
    assert plan(pod, UP, NOW) == (StartContainer("one", 0),)
    assert plan(pod, replace(UP, states=states(runs("one"))), NOW) == ()
    assert plan(pod, replace(UP, states=states(ended("one"))), NOW) == (StartContainer("two", 0),)
    through = states(ended("one"), ended("two"))
    assert plan(pod, replace(UP, states=through), NOW) == (StartContainer("main", 0),)


def test_an_init_container_that_fails_runs_again() -> None:
    pod = init_pod(a_container("one"))
    assert plan(pod, replace(UP, states=states(ended("one", 1))), NOW) == (StartContainer("one", 1),)


def test_an_init_container_that_fails_for_good_ends_the_pod() -> None:
    pod = init_pod(a_container("one"), policy="Never")
    failed = replace(UP, states=states(ended("one", 1)))
    assert plan(pod, failed, NOW) == (EndSandbox(),)
    assert plan(pod, replace(failed, sandbox=False), NOW) == (Finish(),)


def test_init_containers_do_not_run_again_while_a_main_container_waits_for_its_restart() -> None:
    pod = init_pod(a_container("one"))
    seen = replace(UP, states=states(ended("one"), ended("main", 1)))
    assert plan(pod, seen, NOW) == (StartContainer("main", 1),)


def test_a_sidecar_lets_the_next_one_start_as_soon_as_it_runs() -> None:
    pod = init_pod(a_sidecar("side"), a_container("one"))
    assert plan(pod, UP, NOW) == (StartContainer("side", 0),)
    assert plan(pod, replace(UP, states=states(runs("side"))), NOW) == (StartContainer("one", 0),)


def test_a_sidecars_startup_probe_holds_up_the_next_one() -> None:
    pod = init_pod(a_sidecar("side", startupProbe={"exec": {}}), a_container("one"))
    seen = replace(UP, states=states(runs("side")))
    assert plan(pod, seen, NOW) == ()
    assert plan(pod, replace(seen, verdicts={"side": Verdict(startup=True)}), NOW) == (StartContainer("one", 0),)


def test_a_sidecar_that_fails_its_startup_probe_is_stopped() -> None:
    pod = init_pod(a_sidecar("side", startupProbe={"exec": {}}))
    seen = replace(UP, states=states(runs("side")), verdicts={"side": Verdict(startup=False)})
    assert plan(pod, seen, NOW) == (BeginStop("side", 0, 30.0, "Init container side failed startup probe"),)


def test_a_sidecar_that_ends_runs_again_also_before_initialization_is_through() -> None:
    pod = init_pod(a_sidecar("side"), a_container("one"), policy="Never")
    seen = replace(UP, states=states(ended("side"), runs("one")))
    assert plan(pod, seen, NOW) == (StartContainer("side", 1),)


def test_a_sidecar_that_ends_later_runs_again_beside_the_main_containers() -> None:
    pod = init_pod(a_sidecar("side"), policy="Never")
    seen = replace(UP, states=states(ended("side", 1), runs("main")))
    assert plan(pod, seen, NOW) == (StartContainer("side", 1),)


def test_after_a_new_sandbox_initialization_begins_again() -> None:
    pod = init_pod(a_container("one"))
    seen = replace(UP, states=states(ended("one"), ended("main", 137)), earlier={"one": 0, "main": 0})
    assert plan(pod, seen, NOW) == (StartContainer("one", 1),)
    seen = replace(seen, states=states(ended("one", attempt=1), ended("main", 137)))
    assert plan(pod, seen, NOW) == (StartContainer("main", 1),)


# Restarts


def test_a_container_that_ended_starts_again_at_once_the_first_time() -> None:
    assert plan(a_pod(), replace(UP, states=states(ended(code=1))), NOW) == (StartContainer("main", 1),)


def test_later_it_waits_for_its_back_off() -> None:
    seen = replace(UP, states=states(ended(code=1, attempt=1)), back_offs={"main": BackOff(10, NOW - 5)})
    assert plan(a_pod(), seen, NOW + 1) == (BackOffRestart("main", 10, NOW + 10),)
    assert plan(a_pod(), seen, NOW + 10) == (StartContainer("main", 2),)


def test_with_on_failure_success_is_the_end_and_failure_is_not() -> None:
    pod = a_pod(a_container("good"), a_container("bad"), restartPolicy="OnFailure")
    seen = replace(UP, states=states(ended("good"), ended("bad", 1)))
    assert plan(pod, seen, NOW) == (StartContainer("bad", 1),)


@pytest.mark.parametrize("code", [0, 1])
def test_with_never_every_end_is_the_end(code: int) -> None:
    seen = replace(UP, states=states(ended(code=code)))
    assert plan(a_pod(restartPolicy="Never"), seen, NOW) == (EndSandbox(),)


def test_one_container_that_runs_keeps_the_pod() -> None:
    pod = a_pod(a_container("a"), a_container("b"), restartPolicy="Never")
    assert plan(pod, replace(UP, states=states(ended("a", 1), runs("b"))), NOW) == ()


def test_a_pod_whose_sandbox_broke_gets_a_new_one() -> None:
    seen = Observed(sandbox=False, states=states(ended(code=137)), phase="Running")
    assert plan(a_pod(), seen, NOW) == (StartSandbox(),)
    assert plan(a_pod(restartPolicy="OnFailure"), seen, NOW) == (StartSandbox(),)


def test_unless_it_runs_only_once() -> None:
    pod = a_pod(a_container("a"), a_container("b"), restartPolicy="Never")
    assert plan(pod, Observed(states=states(ended("a", 137)), phase="Running"), NOW) == (Finish(),)


def test_a_pod_whose_containers_all_succeeded_gets_no_new_sandbox() -> None:
    seen = Observed(states=states(ended()), phase="Running")
    assert plan(a_pod(restartPolicy="OnFailure"), seen, NOW) == (Finish(),)


# Probes


def test_a_container_that_fails_its_liveness_probe_is_stopped_and_starts_again() -> None:
    pod = a_pod(terminationGracePeriodSeconds=7)
    seen = replace(UP, states=states(runs()), verdicts={"main": Verdict(liveness=False)})
    message = "Container main failed liveness probe, will be restarted"
    assert plan(pod, seen, NOW) == (BeginStop("main", 0, 7.0, message),)
    seen = replace(seen, stops={"main": Stop(0, NOW, 7.0)})
    assert plan(pod, seen, NOW + 1) == (SignalStop("main", 6.0),)
    assert plan(pod, replace(seen, stops={"main": Stop(0, NOW, 7.0, signalled=True)}), NOW + 1) == ()
    assert plan(pod, replace(seen, states=states(ended(code=137))), NOW) == (StartContainer("main", 1),)


def test_a_probe_may_have_a_grace_of_its_own() -> None:
    pod = a_pod(a_container(livenessProbe={"terminationGracePeriodSeconds": 3}), restartPolicy="Never")
    seen = replace(UP, states=states(runs()), verdicts={"main": Verdict(liveness=False)})
    assert plan(pod, seen, NOW) == (BeginStop("main", 0, 3.0, "Container main failed liveness probe"),)


def test_a_container_that_is_to_have_another_image_is_stopped_and_starts_again() -> None:
    seen = replace(UP, states=states(runs()), images={"main": "busybox:old"})
    message = "Container main definition changed, will be restarted"
    assert plan(a_pod(), seen, NOW) == (BeginStop("main", 0, 30.0, message),)
    assert plan(a_pod(), replace(seen, images={"main": "busybox"}), NOW) == ()


def test_a_stop_that_a_failed_hook_began_is_carried_through() -> None:
    seen = replace(UP, states=states(runs()), stops={"main": Stop(0, NOW, 30.0)})
    assert plan(a_pod(), seen, NOW) == (SignalStop("main", 30.0),)


def test_the_stop_of_an_earlier_attempt_means_nothing() -> None:
    seen = replace(UP, states=states(runs(attempt=1)), stops={"main": Stop(0, NOW - 50, 30.0, signalled=True)})
    assert plan(a_pod(), seen, NOW) == ()


# Others


def test_ephemeral_containers_start_once_and_at_any_time() -> None:
    pod = a_pod(a_container("main"), init=(a_container("one"),), ephemeralContainers=[a_container("debug")])
    assert plan(pod, replace(UP, states=states(runs("one"))), NOW) == (StartContainer("debug", 0),)
    seen = replace(UP, states=states(runs("one"), ended("debug", 1)))
    assert plan(pod, seen, NOW) == ()


def test_a_deadline_is_waited_for() -> None:
    pod = a_pod(activeDeadlineSeconds=120)
    assert plan(pod, replace(UP, states=states(runs())), NOW) == (RequeueAfter(20.0),)
