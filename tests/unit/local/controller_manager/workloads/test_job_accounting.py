# SPDX-License-Identifier: Apache-2.0
"""Finished pods are counted once, whatever happens between the writes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.local.controller_manager.workloads.builders import NOW, a_job, a_job_pod

from springtide.kube.resources import Obj
from springtide.local.controller_manager.batch.job_accounting import MOST_UNCOUNTED, close, enter
from springtide.local.controller_manager.batch.job_plan import conclude, plan
from springtide.local.controller_manager.batch.job_tally import Observed
from springtide.local.controller_manager.views import PodView
from springtide.local.controller_manager.workloads.pod_control import Outcome


def a_round(job: Obj, pods: list[PodView], released: frozenset[str] = frozenset()) -> tuple[Any, Observed]:
    seen = Observed(job, tuple(pods), released=released)
    decided = plan(seen, NOW)
    done = Outcome(len(decided.create) + len(decided.delete))
    return enter(seen, decided, conclude(decided, seen, done, NOW), NOW), seen


def uids(pods: tuple[PodView, ...]) -> frozenset[str]:
    return frozenset(pod.uid for pod in pods)


def test_finished_pods_are_listed_before_they_are_released() -> None:
    job = a_job(completions=3, parallelism=3)
    entry, _ = a_round(job, [a_job_pod("a", "Succeeded"), a_job_pod("b", "Failed"), a_job_pod("c")])
    assert entry.status["uncountedTerminatedPods"] == {"succeeded": ["uid-a"], "failed": ["uid-b"]}
    assert "succeeded" not in entry.status
    assert uids(entry.release) == {"uid-a", "uid-b"}
    status, ending = close(entry, entry.status, uids(entry.release), NOW)
    assert (status["succeeded"], status["failed"], ending) == (1, 1, None)
    assert status["uncountedTerminatedPods"] == {}


def test_what_was_listed_before_a_crash_is_counted_afterwards() -> None:
    listed = {"uncountedTerminatedPods": {"succeeded": ["uid-a", "uid-b"]}}
    job = a_job(listed, completions=3, parallelism=3)
    # Pod a has lost its finalizer, pod b still has it.
    pods = [a_job_pod("a", "Succeeded", finalizers=[]), a_job_pod("b", "Succeeded")]
    entry, _ = a_round(job, pods)
    assert entry.status["succeeded"] == 1
    assert entry.status["uncountedTerminatedPods"] == {"succeeded": ["uid-b"]}
    status, _ = close(entry, entry.status, uids(entry.release), NOW)
    assert status["succeeded"] == 2


def test_a_finalizer_that_is_gone_but_still_cached_is_not_counted_again() -> None:
    job = a_job({"succeeded": 1, "uncountedTerminatedPods": {}}, completions=3)
    entry, _ = a_round(job, [a_job_pod("a", "Succeeded")], released=frozenset({"uid-a"}))
    assert entry.status["succeeded"] == 1
    assert entry.release == ()


def test_a_pod_that_keeps_its_finalizer_stays_listed() -> None:
    entry, _ = a_round(a_job(completions=2), [a_job_pod("a", "Succeeded")])
    status, _ = close(entry, entry.status, frozenset(), NOW)
    assert status["uncountedTerminatedPods"] == {"succeeded": ["uid-a"]}
    assert "succeeded" not in status


def test_the_last_success_completes_the_job() -> None:
    entry, _ = a_round(a_job(), [a_job_pod("a", "Succeeded")])
    assert [c["type"] for c in entry.status["conditions"]] == ["SuccessCriteriaMet"]
    status, ending = close(entry, entry.status, uids(entry.release), NOW)
    assert ending is not None
    assert [c["type"] for c in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert status["completionTime"] == ending["lastTransitionTime"]


def test_a_failed_job_waits_for_its_terminating_pods() -> None:
    job = a_job(backoffLimit=0, completions=2, parallelism=2)
    entry, _ = a_round(job, [a_job_pod("a", "Failed"), a_job_pod("b")])
    status, ending = close(entry, entry.status, uids(entry.release), NOW)
    assert ending is None
    assert [c["type"] for c in status["conditions"]] == ["FailureTarget"]
    assert status["failed"] == 2, "pods stopped by the end of the job count as failed"
    entry, _ = a_round({**job, "status": status}, [])
    status, ending = close(entry, entry.status, frozenset(), NOW)
    assert [c["type"] for c in status["conditions"]] == ["FailureTarget", "Failed"]
    assert "completionTime" not in status


def test_ignored_failures_are_released_but_not_counted() -> None:
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    disrupted = {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}
    job = a_job(podFailurePolicy={"rules": [rule]})
    entry, _ = a_round(job, [a_job_pod("a", "Failed", status=disrupted)])
    assert uids(entry.release) == {"uid-a"}
    assert entry.status["uncountedTerminatedPods"] == {}


def test_the_last_failure_of_an_index_is_kept_until_its_successor_is_made() -> None:
    spec: Obj = {"completionMode": "Indexed", "completions": 2, "parallelism": 2, "backoffLimitPerIndex": 3}
    failed = a_job_pod("a", "Failed", index=0, failures=0)
    entry, _ = a_round(a_job(**spec), [failed, a_job_pod("b", index=1)])
    assert entry.release == ()
    entry, _ = a_round(a_job(**spec), [failed, a_job_pod("c", index=0, failures=1), a_job_pod("b", index=1)])
    assert uids(entry.release) == {"uid-a"}
    assert entry.status["failedIndexes"] == ""


def test_the_list_never_grows_beyond_its_limit() -> None:
    pods = [a_job_pod(f"p{number}", "Succeeded") for number in range(MOST_UNCOUNTED + 50)]
    entry, _ = a_round(a_job(completions=MOST_UNCOUNTED + 50), pods)
    assert len(entry.status["uncountedTerminatedPods"]["succeeded"]) == MOST_UNCOUNTED
    assert entry.ending is None


@given(
    st.lists(st.sampled_from(["Succeeded", "Failed", "Running"]), max_size=12),
    st.lists(st.sampled_from(["entered", "released", "closed"]), max_size=6),
)
def test_a_controller_killed_anywhere_counts_each_pod_once(phases: list[str], deaths: list[str]) -> None:
    job = a_job(completions=100, parallelism=12, backoffLimit=100)
    pods = {f"p{number}": a_job_pod(f"p{number}", phase) for number, phase in enumerate(phases)}
    for death in [*deaths, "closed", "closed"]:
        entry, _ = a_round(job, list(pods.values()))
        job = {**job, "status": entry.status}
        if death == "entered":
            continue
        for pod in entry.release:
            name = pod.metadata.name
            pods[name] = a_job_pod(name, pod.status.phase, finalizers=[])
        if death == "closed":
            job = {**job, "status": close(entry, entry.status, uids(entry.release), NOW)[0]}
    assert job["status"].get("succeeded", 0) == phases.count("Succeeded")
    assert job["status"].get("failed", 0) == phases.count("Failed")
