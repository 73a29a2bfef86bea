# SPDX-License-Identifier: Apache-2.0
"""What a pod's status says of single containers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.unit.local.kubelet.builders import NOW, UID, a_container, a_pod, deleted, ended, runs, states

from springtide.kube.resources import Obj
from springtide.local.kubelet.pods.observed import Failure, Observed, Verdict
from springtide.local.kubelet.status.container_status import statuses
from springtide.local.kubelet.status.moments import stamp

UP = Observed(sandbox=True)


def status(pod: Obj, seen: Observed, old: Obj | None = None) -> Obj:
    return statuses(pod, "containers", seen, {"containerStatuses": [old] if old else []})[0]


def test_they_are_sorted_by_name_and_init_containers_are_not() -> None:
    pod = a_pod(a_container("b"), a_container("a"), init=(a_container("z"), a_container("y")))
    assert [one["name"] for one in statuses(pod, "containers", UP, {})] == ["a", "b"]
    assert [one["name"] for one in statuses(pod, "initContainers", UP, {})] == ["z", "y"]


def test_one_that_ended_for_good_is_terminated() -> None:
    found = status(a_pod(restartPolicy="Never"), replace(UP, states=states(ended(code=3, message="out of luck"))))
    assert found["state"] == {
        "terminated": {
            "exitCode": 3,
            "reason": "Error",
            "message": "out of luck",
            "startedAt": stamp(NOW - 5),
            "finishedAt": stamp(NOW),
            "containerID": f"springtide://{UID}/main/0",
        }
    }
    assert (found["ready"], found["started"], found["restartCount"]) == (False, False, 0)


def test_one_that_waits_for_its_restart_shows_why_and_how_it_ended() -> None:
    failures = {"main": Failure("CrashLoopBackOff", "back-off 10s …")}
    found = status(a_pod(), replace(UP, states=states(ended(code=1, attempt=2)), failures=failures))
    assert found["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s …"}}
    assert found["lastState"]["terminated"]["exitCode"] == 1
    assert found["restartCount"] == 2


def test_of_a_deleted_pod_none_waits() -> None:
    failures = {"main": Failure("CrashLoopBackOff", "…")}
    pod = a_pod(metadata=deleted())
    found = status(pod, replace(UP, states=states(ended(code=1)), failures=failures))
    assert found["state"]["terminated"]["exitCode"] == 1


def test_one_that_runs_again_shows_its_last_end() -> None:
    seen = replace(UP, states=states(runs(attempt=1)), previous=states(ended(code=1)))
    found = status(a_pod(), seen)
    assert found["lastState"]["terminated"]["containerID"] == f"springtide://{UID}/main/0"
    assert found["restartCount"] == 1


def test_a_last_end_that_is_no_longer_on_disk_is_taken_from_what_was_reported() -> None:
    end = {"terminated": {"exitCode": 9}}
    old = {"name": "main", "containerID": f"springtide://{UID}/main/0", "state": end}
    assert status(a_pod(), replace(UP, states=states(runs(attempt=1))), old)["lastState"] == end
    old = {"name": "main", "containerID": f"springtide://{UID}/main/1", "state": {"running": {}}, "lastState": end}
    assert status(a_pod(), replace(UP, states=states(runs(attempt=1))), old)["lastState"] == end


def test_one_that_could_not_be_made_says_why() -> None:
    failures = {"main": Failure("CreateContainerConfigError", 'configmap "x" not found')}
    found = status(a_pod(), replace(UP, failures=failures))
    expected = {"reason": "CreateContainerConfigError", "message": 'configmap "x" not found'}
    assert found["state"] == {"waiting": expected}


def test_what_the_pod_lacks_leaves_its_containers_in_creation() -> None:
    found = status(a_pod(), replace(UP, failures={"main": Failure("", "no volume")}))
    assert found["state"] == {"waiting": {"reason": "ContainerCreating"}}


def test_one_whose_post_start_hook_runs_is_still_in_creation() -> None:
    seen = replace(UP, states=states(runs(attempt=1)), previous=states(ended(code=1)), starting=frozenset({"main"}))
    found = status(a_pod(), seen)
    assert found["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert found["lastState"]["terminated"]["exitCode"] == 1
    assert found["started"] is False


def test_one_that_ran_and_of_which_nothing_is_left_is_lost() -> None:
    old = {"name": "main", "state": {"running": {"startedAt": stamp(NOW)}}, "lastState": {}, "restartCount": 1}
    found = status(a_pod(), UP, old)
    assert found["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
    assert found["lastState"]["terminated"]["exitCode"] == 137
    assert found["restartCount"] == 2


def test_what_was_reported_as_ended_stays_reported() -> None:
    old = {"name": "main", "state": {"terminated": {"exitCode": 0}}, "lastState": {}, "restartCount": 4}
    found = status(a_pod(), Observed(), old)
    assert (found["state"], found["restartCount"]) == ({"terminated": {"exitCode": 0}}, 4)


def test_probes_decide_what_is_started_and_ready() -> None:
    pod = a_pod(a_container(startupProbe={"exec": {}}, readinessProbe={"exec": {}}))
    seen = replace(UP, states=states(runs()))

    def said(**verdict: Any) -> tuple[bool, bool]:
        found = status(pod, replace(seen, verdicts={"main": Verdict(**verdict)}))
        return found["started"], found["ready"]

    assert said() == (False, False)
    assert said(startup=True) == (True, False)
    assert said(startup=True, readiness=True) == (True, True)
    assert said(startup=True, readiness=False) == (True, False)
    assert said(startup=False) == (False, False)


def test_after_a_restart_of_the_agent_what_was_reported_holds_until_probes_speak() -> None:
    pod = a_pod(a_container(startupProbe={"exec": {}}, readinessProbe={"exec": {}}))
    seen = replace(UP, states=states(runs(attempt=1)))
    old = {"name": "main", "containerID": f"springtide://{UID}/main/1", "started": True, "ready": True, "state": {}}
    found = status(pod, seen, old)
    assert (found["started"], found["ready"]) == (True, True)
    found = status(pod, replace(seen, states=states(runs(attempt=2))), old)
    assert (found["started"], found["ready"]) == (False, False)


def test_resources_and_mounts_are_repeated() -> None:
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    mounts = [{"name": "a", "mountPath": "/a"}, {"name": "b", "mountPath": "/b", "readOnly": True}]
    found = status(a_pod(a_container(resources=resources, volumeMounts=mounts)), replace(UP, states=states(runs())))
    assert (found["resources"], found["allocatedResources"]) == (resources, {"cpu": "1"})
    assert found["volumeMounts"] == [
        {"name": "a", "mountPath": "/a"},
        {"name": "b", "mountPath": "/b", "readOnly": True, "recursiveReadOnly": "Disabled"},
    ]


def test_messages_share_twelve_kilobytes() -> None:
    pod = a_pod(*(a_container(name) for name in "abcd"), restartPolicy="Never")
    found = statuses(pod, "containers", replace(UP, states=states(ended("a", message="x" * 4096))), {})
    assert len(found[0]["state"]["terminated"]["message"]) == 3072
