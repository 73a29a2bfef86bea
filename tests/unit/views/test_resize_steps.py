# SPDX-License-Identifier: Apache-2.0
"""The steps of a resize, and how it ends."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.messages import Language, shown
from springtide.views import resize_steps, trainers
from springtide.views.resize_steps import Change, End, Progress, Seen, effective, ending, hosts_of, steps

Obj = dict[str, Any]
MORE, FEWER = Change(2, 4), Change(4, 2)
D, G, N, L = Progress.DONE, Progress.GOING_ON, Progress.NOT_BEGUN, Progress.LEFT_OUT


def job(replicas: int = 4, workers: str = "2/4", state: str = "Running", **status: Any) -> Obj:
    return {
        "kind": "MPIJob",
        "metadata": {"name": "bert", "uid": "1"},
        "spec": {"mpiReplicaSpecs": {"Worker": {"replicas": replicas}}},
        "status": {"state": state, "workers": workers, **status},
    }


def condition(type_: str, message: str = "", at: str = "2026-01-01T00:00:00Z", status: str = "True") -> Obj:
    return {"type": type_, "status": status, "message": message, "lastTransitionTime": at}


def pod(number: int, *, ready: bool = True, leaving: bool = False, **status: Any) -> Obj:
    metadata: Obj = {"name": f"bert-worker-{number}"}
    if leaving:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "status": {"conditions": [condition("Ready")] if ready else [], **status}}


def listed(*numbers: int) -> frozenset[str]:
    return frozenset(f"bert-worker-{number}" for number in numbers)


def progress(change: Change, seen: Seen) -> list[Progress]:
    return [step.progress for step in steps(change, seen)]


def detail(change: Change, seen: Seen) -> str:
    step = next(step for step in steps(change, seen) if step.progress is Progress.GOING_ON)
    assert step.detail is not None
    return shown(step.detail, Language.ENGLISH)


PODS = [pod(number) for number in range(4)]


@pytest.mark.parametrize(
    ("workers", "hosts", "status", "expected"),
    [
        (PODS[:2], listed(0, 1), "2/4", [D, G, N, N, N]),
        ([*PODS[:3], pod(3, ready=False)], listed(0, 1), "2/4", [D, D, G, N, N]),
        (PODS, listed(0, 1), "2/4", [D, D, D, G, N]),
        (PODS, listed(0, 1, 2, 3), "2/4", [D, D, D, D, G]),
        (PODS, listed(0, 1, 2, 3), "4/4", [D, D, D, D, D]),
        ([*PODS[:3], pod(3, phase="Failed")], listed(0, 1, 2), "3/4", [D, G, N, N, N]),
        (PODS, None, "4/4", [D, D, D, L, D]),
        (PODS, listed(0, 1, 2, 3), "4/2", [D, D, D, D, G]),  # the status is of the former size
    ],
)
def test_new_workers_are_created_ready_listed_and_train(
    workers: list[Obj], hosts: frozenset[str] | None, status: str, expected: list[Progress]
) -> None:
    assert progress(MORE, Seen(job(workers=status), workers, hosts)) == expected


@pytest.mark.parametrize("state", ["Created", "Queued", "Starting"])
def test_ranks_do_not_train_before_their_launcher_runs(state: str) -> None:
    assert progress(MORE, Seen(job(workers="4/4", state=state), PODS, listed(0, 1, 2, 3))) == [D, D, D, D, G]


@pytest.mark.parametrize(
    ("workers", "hosts", "status", "expected"),
    [
        (PODS, listed(0, 1, 2, 3), "4/2", [D, G, N, N, N]),
        (PODS, listed(0, 1), "4/2", [D, D, G, N, N]),
        (PODS, listed(0, 1), "2/2", [D, D, D, G, N]),
        ([*PODS[:2], pod(2, leaving=True), pod(3, leaving=True)], listed(0, 1), "2/2", [D, D, D, D, G]),
        (PODS[:2], listed(0, 1), "2/2", [D, D, D, D, D]),
    ],
)
def test_surplus_workers_are_unlisted_left_drained_and_deleted(
    workers: list[Obj], hosts: frozenset[str], status: str, expected: list[Progress]
) -> None:
    assert progress(FEWER, Seen(job(2, status), workers, hosts)) == expected


def test_the_step_that_goes_on_says_what_it_waits_for() -> None:
    waiting = pod(3, ready=False, containerStatuses=[{"state": {"waiting": {"reason": "ImagePullBackOff"}}}])
    assert detail(MORE, Seen(job(), [*PODS[:3], waiting], listed(0, 1))) == "3 of 4; bert-worker-3: ImagePullBackOff"
    unplaced = pod(3, ready=False, conditions=[condition("PodScheduled", "0/1 nodes are available", status="False")])
    seen = Seen(job(), [*PODS[:3], unplaced], listed(0, 1))
    assert detail(MORE, seen) == "3 of 4; bert-worker-3: 0/1 nodes are available"


@pytest.mark.parametrize(
    ("seen", "how", "why"),
    [
        (Seen(None), End.CANCELLED, "the job was deleted"),
        (Seen(job(state="Failed")), End.FAILED, "the job has finished before: Failed"),
        (Seen(job(replicas=3)), End.CANCELLED, "another change gave the job 3 workers"),
        (
            Seen(job(conditions=[condition("SizeDeferred", "2 of 4 workers train")])),
            End.DEFERRED,
            "2 of 4 workers train",
        ),
        (Seen(job(workers="4/4"), PODS, listed(0, 1, 2, 3)), End.DONE, "the job has 4 workers"),
    ],
)
def test_a_resize_ends_when_it_is_done_or_cannot_be(seen: Seen, how: End, why: str) -> None:
    found = ending(MORE, seen)
    assert found is not None
    assert (found.how, shown(found.why, Language.ENGLISH)) == (how, why)


def test_a_suspended_job_has_its_size_when_it_is_resumed() -> None:
    suspended = job() | {"spec": {"runPolicy": {"suspend": True}, "mpiReplicaSpecs": {"Worker": {"replicas": 4}}}}
    found = ending(MORE, Seen(suspended))
    assert found is not None
    assert found.how is End.DEFERRED


def scaler(*conditions: Obj, **status: Any) -> Obj:
    return {"spec": {"timeout": 60}, "status": {"conditions": list(conditions), **status}}


@pytest.mark.parametrize(
    ("found", "how"),
    [
        (None, End.CANCELLED),
        (scaler(condition("Scaling"), condition("ScaleFailed", "no", "2026-01-01T00:00:10Z")), End.FAILED),
        (scaler(condition("Scaling"), condition("ScaleFailed", "no", "2026-01-01T00:01:00Z")), End.TIMED_OUT),
        (scaler(condition("ScaleFailed", "no")), End.FAILED),
        (scaler(condition("Scaling")), None),
    ],
)
def test_a_resize_by_a_scaler_ends_with_the_scaler(found: Obj | None, how: End | None) -> None:
    seen = Seen(job(2, workers="2/4"), PODS[:2], listed(0, 1), found, by_scaler=True)
    end = ending(MORE, seen)
    assert (end.how if end else None) == how


def test_a_scaler_that_waits_for_its_turn_is_not_accepted_yet() -> None:
    waiting = scaler(condition("Created", "it waits for ScaleOut first"))
    seen = Seen(job(2, workers="2/2"), PODS[:2], listed(0, 1), waiting, by_scaler=True)
    assert progress(MORE, seen) == [G, N, N, N, N]
    assert detail(MORE, seen) == "it waits for ScaleOut first"


def test_the_ranks_of_a_scaleout_train_once_it_has_succeeded() -> None:
    seen = Seen(job(2, "4/4"), PODS, listed(0, 1, 2, 3), scaler(condition("Scaling")), by_scaler=True)
    assert progress(MORE, seen)[-1] is G
    seen = Seen(job(4, "4/4"), PODS, listed(0, 1, 2, 3), scaler(condition("ScaleSucceeded")), by_scaler=True)
    assert progress(MORE, seen)[-1] is D


def test_the_sizes_are_those_that_the_scaler_has_found() -> None:
    assert effective(MORE, Seen(job(), scaler=scaler(startSize=3, targetSize=5))) == Change(3, 5)
    assert effective(MORE, Seen(job(), scaler=scaler())) == MORE
    assert effective(MORE, Seen(job())) == MORE


def test_after_the_timeout_the_step_and_the_explanation_say_why() -> None:
    seen = Seen(job(explanation="The job waits."), PODS[:2], listed(0, 1))
    end = resize_steps.timed_out(seen, steps(MORE, seen))
    assert shown(end.why, Language.ENGLISH) == "not yet: worker pods are created; The job waits."


@pytest.mark.parametrize(
    ("hostfile", "pods"),
    [
        ("bert-worker-0 slots=1\nbert-worker-1 slots=1\n", listed(0, 1)),
        ("bert-worker-0:1\n\n", listed(0)),
        ("bert-worker-0.bert.default.svc slots=2\n", listed(0)),
        ("", listed()),
    ],
)
def test_the_host_list_names_pods_in_all_its_forms(hostfile: str, pods: frozenset[str]) -> None:
    assert hosts_of({"data": {"hostfile": hostfile}}) == pods


def test_only_kinds_with_a_launcher_have_a_host_list() -> None:
    assert [each.name for each in trainers.TRAINERS if resize_steps.has_host_list(each)] == [
        "etjob",
        "mpijob",
        "deepspeedjob",
    ]
