# SPDX-License-Identifier: Apache-2.0
"""A pod's phase, its conditions, and what is sent to the API. Words and values are the kubelet's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.local.kubelet.builders import NOW, UID, a_container, a_pod, a_sidecar, deleted, ended, runs, states

from springtide.kube.resources import Obj
from springtide.local.kubelet.pods.observed import Failure, Observed, Verdict
from springtide.local.kubelet.status.moments import stamp
from springtide.local.kubelet.status.pod_status import Place, derive, difference

PLACE = Place("127.0.0.1", "10.244.1.2")
UP = Observed(sandbox=True)
CRASHING = Failure("CrashLoopBackOff", "back-off 10s restarting failed container=main pod=p_default(u)")


def status_of(pod: Obj, seen: Observed, old: Obj | None = None) -> Obj:
    return derive(pod, seen, pod["status"] if old is None else old, PLACE, NOW)


def condition(status: Obj, kind: str) -> Obj:
    found: Obj = next(one for one in status["conditions"] if one["type"] == kind)
    return found


def words(status: Obj, kind: str) -> tuple[Any, ...]:
    found = condition(status, kind)
    return found["status"], found.get("reason"), found.get("message")


def test_a_pod_that_runs() -> None:
    status = status_of(a_pod(), replace(UP, states=states(runs(started=NOW - 7))))
    assert status == {
        "phase": "Running",
        "observedGeneration": 1,
        "qosClass": "BestEffort",
        "startTime": stamp(NOW),
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "podIP": "10.244.1.2",
        "podIPs": [{"ip": "10.244.1.2"}],
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": stamp(NOW), "observedGeneration": 1}
            for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
        "containerStatuses": [
            {
                "name": "main",
                "image": "busybox",
                "imageID": "",
                "containerID": f"springtide://{UID}/main/0",
                "state": {"running": {"startedAt": stamp(NOW - 7)}},
                "lastState": {},
                "restartCount": 0,
                "ready": True,
                "started": True,
                "resources": {},
            }
        ],
    }


def test_a_pod_that_has_nothing_yet() -> None:
    status = derive(a_pod(), Observed(), a_pod()["status"], Place("127.0.0.1", ""), NOW)
    assert status["phase"] == "Pending"
    assert "podIP" not in status
    assert words(status, "PodReadyToStartContainers") == ("False", None, None)
    assert words(status, "Initialized") == ("True", None, None)
    unready = ("False", "ContainersNotReady", "containers with unready status: [main]")
    assert words(status, "Ready") == words(status, "ContainersReady") == unready


# Phases: policy, states, failure, phase

DONE, FAILED, RUNS = ended(), ended(code=1), runs()


@pytest.mark.parametrize(
    ("policy", "state", "failure", "phase"),
    [
        ("Always", DONE, None, "Running"),
        ("Always", FAILED, None, "Running"),
        ("Always", FAILED, CRASHING, "Running"),
        ("OnFailure", DONE, None, "Succeeded"),
        ("OnFailure", FAILED, None, "Running"),
        ("OnFailure", FAILED, CRASHING, "Running"),
        ("Never", DONE, None, "Succeeded"),
        ("Never", FAILED, None, "Failed"),
        ("Never", RUNS, None, "Running"),
        ("Always", None, Failure("CreateContainerConfigError", "no"), "Pending"),
    ],
)
def test_the_phase_of_one_container(policy: str, state: Any, failure: Failure | None, phase: str) -> None:
    seen = replace(UP, states=states(state) if state else {}, failures={"main": failure} if failure else {})
    assert status_of(a_pod(restartPolicy=policy), seen)["phase"] == phase


def test_one_failure_among_successes_fails_the_pod() -> None:
    pod = a_pod(a_container("a"), a_container("b"), restartPolicy="Never")
    assert status_of(pod, replace(UP, states=states(ended("a"), ended("b", 3))))["phase"] == "Failed"


def test_a_pod_is_pending_until_its_last_container_has_started() -> None:
    pod = a_pod(a_container("a"), a_container("b"))
    assert status_of(pod, replace(UP, states=states(runs("a"))))["phase"] == "Pending"


def test_a_container_killed_at_deletion_with_success_makes_the_pod_a_success() -> None:
    seen = Observed(states=states(ended()), finished=True)
    assert status_of(a_pod(metadata=deleted()), seen)["phase"] == "Succeeded"
    seen = Observed(states=states(ended(code=143)), finished=True)
    assert status_of(a_pod(metadata=deleted()), seen)["phase"] == "Failed"


def test_a_pod_that_ended_does_not_come_back() -> None:
    seen = replace(UP, states=states(runs()))
    assert status_of(a_pod(), seen, {"phase": "Failed", "reason": "Evicted"})["phase"] == "Failed"
    assert status_of(a_pod(), seen, {"phase": "Failed", "reason": "Evicted"})["reason"] == "Evicted"


# Initialization


def test_while_init_containers_run() -> None:
    pod = a_pod(a_container("main"), init=(a_container("one"), a_container("two")))
    status = status_of(pod, replace(UP, states=states(runs("one"))))
    assert status["phase"] == "Pending"
    message = "containers with incomplete status: [one two]"
    assert words(status, "Initialized") == ("False", "ContainersNotInitialized", message)
    assert words(status, "Ready")[2] == "containers with unready status: [main]"
    assert [one["state"] for one in status["initContainerStatuses"]][1] == {"waiting": {"reason": "PodInitializing"}}
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}


def test_an_init_container_that_failed_for_good() -> None:
    pod = a_pod(init=(a_container("one"),), restartPolicy="Never")
    status = status_of(pod, Observed(states=states(ended("one", 1)), finished=True))
    assert status["phase"] == "Failed"
    assert words(status, "Initialized")[1] == "ContainersNotInitialized"
    assert words(status, "Ready") == ("False", "PodFailed", None)
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}


def test_an_init_container_that_will_run_again() -> None:
    pod = a_pod(init=(a_container("one"),))
    assert status_of(pod, replace(UP, states=states(ended("one", 1))))["phase"] == "Pending"


def test_init_containers_that_are_through_are_ready() -> None:
    pod = a_pod(a_container("main"), init=(a_container("one"),))
    status = status_of(pod, replace(UP, states=states(ended("one"), runs("main"))))
    assert status["phase"] == "Running"
    assert status["initContainerStatuses"][0]["ready"] is True
    assert status["initContainerStatuses"][0]["started"] is False


def test_a_sidecar_counts_as_a_container() -> None:
    pod = a_pod(a_container("main"), init=(a_sidecar("side", readinessProbe={"exec": {}}),))
    seen = replace(UP, states=states(runs("side"), runs("main")))
    status = status_of(pod, seen)
    assert words(status, "Initialized") == ("True", None, None)
    assert words(status, "ContainersReady")[2] == "containers with unready status: [side]"
    ready = replace(seen, verdicts={"side": Verdict(readiness=True)})
    assert words(status_of(pod, ready), "Ready") == ("True", None, None)


def test_a_restarting_sidecar_does_not_send_the_pod_back_to_pending() -> None:
    pod = a_pod(a_container("main"), init=(a_sidecar("side"),))
    failures = {"side": Failure("CrashLoopBackOff", "…")}
    status = status_of(pod, replace(UP, states=states(ended("side", 1), runs("main")), failures=failures))
    assert status["phase"] == "Running"
    assert words(status, "Initialized") == ("True", None, None)


# Endings


def test_a_pod_that_succeeded() -> None:
    status = status_of(a_pod(restartPolicy="Never"), Observed(states=states(ended()), finished=True))
    assert words(status, "Initialized") == ("True", "PodCompleted", None)
    assert words(status, "Ready") == words(status, "ContainersReady") == ("False", "PodCompleted", None)
    assert words(status, "PodReadyToStartContainers") == ("False", None, None)


def test_a_failure_is_held_back_while_anything_runs() -> None:
    pod = a_pod(a_container("main"), init=(a_sidecar("side"), a_container("one")), restartPolicy="Never")
    seen = replace(UP, states=states(runs("side"), ended("one", 1)))
    assert status_of(pod, seen)["phase"] == "Pending"
    assert status_of(pod, replace(seen, states=states(ended("side"), ended("one", 1))))["phase"] == "Failed"


def test_a_pod_past_its_deadline() -> None:
    pod = a_pod(activeDeadlineSeconds=10)
    old = {"phase": "Running", "startTime": stamp(NOW - 20)}
    seen = replace(UP, states=states(runs()), start=NOW - 20, phase="Running")
    assert status_of(pod, seen, old)["phase"] == "Running"
    late = status_of(pod, replace(seen, sandbox=False, states=states(ended(code=137)), finished=True), old)
    assert (late["phase"], late["reason"]) == ("Failed", "DeadlineExceeded")
    assert late["message"] == "Pod was active on the node longer than the specified deadline"


def test_a_pod_deleted_before_it_could_start() -> None:
    status = status_of(a_pod(metadata=deleted()), Observed(finished=True))
    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"]["terminated"]["reason"] == "ContainerStatusUnknown"


# Readiness gates


def test_readiness_gates_are_asked_after_the_containers() -> None:
    pod = a_pod(readinessGates=[{"conditionType": "example.com/ok"}])
    seen = replace(UP, states=states(runs()))
    message = 'corresponding condition of pod readiness gate "example.com/ok" does not exist.'
    assert words(status_of(pod, seen), "Ready") == ("False", "ReadinessGatesNotReady", message)
    assert words(status_of(pod, seen), "ContainersReady") == ("True", None, None)
    pod["status"]["conditions"] = [{"type": "example.com/ok", "status": "False"}]
    message = 'the status of pod readiness gate "example.com/ok" is not "True", but False'
    assert words(status_of(pod, seen), "Ready")[2] == message
    pod["status"]["conditions"] = [{"type": "example.com/ok", "status": "True"}]
    assert words(status_of(pod, seen), "Ready") == ("True", None, None)


# What is sent


def test_nothing_is_sent_when_nothing_changed() -> None:
    pod, seen = a_pod(), replace(UP, states=states(runs()))
    old = status_of(pod, seen)
    assert difference(pod, old, derive(pod, seen, old, PLACE, NOW + 60)) is None


def test_a_condition_keeps_the_time_of_its_last_change() -> None:
    pod, seen = a_pod(a_container(readinessProbe={"exec": {}})), replace(UP, states=states(runs()))
    old = status_of(pod, seen)
    new = derive(pod, replace(seen, verdicts={"main": Verdict(readiness=True)}), old, PLACE, NOW + 60)
    assert condition(new, "Ready")["lastTransitionTime"] == stamp(NOW + 60)
    assert condition(new, "Initialized")["lastTransitionTime"] == stamp(NOW)
    patch = difference(pod, old, new)
    assert patch is not None
    assert patch["metadata"] == {"uid": UID}
    assert [one["type"] for one in patch["status"]["conditions"]] == ["Ready", "ContainersReady"]
    assert patch["status"]["conditions"][0]["reason"] is None
    assert set(patch["status"]) == {"conditions", "containerStatuses"}


def test_conditions_of_others_are_not_sent_back() -> None:
    pod = a_pod()
    pod["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True"}]
    new = status_of(pod, replace(UP, states=states(runs())))
    patch = difference(pod, pod["status"], new)
    assert patch is not None
    assert "DisruptionTarget" not in [one["type"] for one in patch["status"]["conditions"]]


def test_a_new_address_takes_the_place_of_the_old_one() -> None:
    """Merged by address, as the schema has it, the pod would have two, which no server accepts."""
    pod, seen = a_pod(), replace(UP, states=states(runs()))
    old = status_of(pod, seen)
    new = derive(pod, seen, old, replace(PLACE, pod_address="10.244.1.9"), NOW)
    patch = difference(pod, old, new)
    assert patch is not None
    assert patch["status"] == {"podIP": "10.244.1.9", "podIPs": [{"$patch": "replace"}, {"ip": "10.244.1.9"}]}


def test_containers_cannot_start_before_volumes_are_there() -> None:
    """The kubelet makes the sandbox after the volumes; here both are made at once."""
    seen = replace(UP, failures={"main": Failure("", 'configmap "data" not found')})
    assert words(status_of(a_pod(), seen), "PodReadyToStartContainers") == ("False", None, None)
    missing = replace(UP, failures={"main": Failure("CreateContainerConfigError", 'secret "key" not found')})
    assert words(status_of(a_pod(), missing), "PodReadyToStartContainers") == ("True", None, None)
