# SPDX-License-Identifier: Apache-2.0
"""Which pods a batch Job makes and deletes, and when it is over."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.local.controller_manager.workloads.builders import NOW, a_job, a_job_pod, ago

from springtide.kube.errors import Forbidden
from springtide.kube.resources import Obj
from springtide.local.controller_manager.batch.job_backoff import Backoff
from springtide.local.controller_manager.batch.job_plan import conclude, plan
from springtide.local.controller_manager.batch.job_pods import Wanted, new_pod
from springtide.local.controller_manager.batch.job_tally import Observed
from springtide.local.controller_manager.views import PodView
from springtide.local.controller_manager.workloads.pod_control import Outcome

INDEXED: Obj = {"completionMode": "Indexed"}


def exited(code: int, container: str = "c") -> Obj:
    ended = {"terminated": {"exitCode": code, "finishedAt": ago(20)}}
    return {"containerStatuses": [{"name": container, "state": ended}]}


def observed(pods: list[PodView], status: Obj | None = None, **spec: Any) -> Observed:
    return Observed(a_job(status, **spec), tuple(pods))


@pytest.mark.parametrize(
    ("pods", "spec", "create", "delete"),
    [
        ([], {"completions": 5, "parallelism": 2}, 2, 0),
        ([a_job_pod("a"), a_job_pod("b")], {"completions": 5, "parallelism": 2}, 0, 0),
        ([a_job_pod("a", "Succeeded")], {"completions": 2, "parallelism": 2}, 1, 0),
        ([a_job_pod("a"), a_job_pod("b")], {"completions": 5, "parallelism": 1}, 0, 1),
        ([], {"completions": None, "parallelism": 3}, 3, 0),
        ([a_job_pod("a", "Succeeded"), a_job_pod("b")], {"completions": None, "parallelism": 3}, 0, 0),
        ([a_job_pod("a"), a_job_pod("b")], {"suspend": True}, 0, 2),
        ([a_job_pod("a", deleting=True)], {}, 0, 0),
        ([a_job_pod("a", deleting=True, age=1000)], {"podReplacementPolicy": "Failed"}, 0, 0),
        ([], {"completions": 900, "parallelism": 900}, 500, 0),
    ],
    ids=[
        "as many as may run at once",
        "enough",
        "only those still needed",
        "parallelism was lowered",
        "a work queue",
        "a work queue starts nothing after the first success",
        "suspended",
        "a terminating pod counts as failed, with back-off",
        "a terminating pod keeps its place",
        "at most 500 at once",
    ],
)
def test_pods_made_and_deleted(pods: list[PodView], spec: dict[str, Any], create: int, delete: int) -> None:
    decided = plan(observed(pods, **spec), NOW)
    assert (len(decided.create), len(decided.delete)) == (create, delete)


def test_nothing_is_made_while_the_cache_lags() -> None:
    assert plan(Observed(a_job(), settled=False), NOW).create == ()


def test_an_indexed_job_fills_the_lowest_free_indexes() -> None:
    pods = [a_job_pod("a", index=1), a_job_pod("b", "Succeeded", index=3)]
    decided = plan(observed(pods, {"completedIndexes": "0"}, completions=7, parallelism=4, **INDEXED), NOW)
    assert decided.create == (Wanted(2), Wanted(4), Wanted(5))


def test_pods_with_a_doubled_or_impossible_index_go() -> None:
    pods = [
        a_job_pod("old", index=0, age=100),
        a_job_pod("young", index=0, age=10),
        a_job_pod("beyond", index=9),
        a_job_pod("none"),
    ]
    decided = plan(observed(pods, completions=3, parallelism=3, **INDEXED), NOW)
    assert {pod.metadata.name for pod in decided.delete} == {"young", "beyond", "none"}


def test_a_new_pod_of_an_indexed_job_carries_its_index() -> None:
    job = a_job(completions=2, **INDEXED)
    pod = new_pod(job, Wanted(1, failures=2, ignored_failures=1))
    assert pod["metadata"]["generateName"] == "sum-1-"
    assert pod["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    assert pod["metadata"]["labels"] == {"job-name": "sum", "batch.kubernetes.io/job-completion-index": "1"}
    assert pod["metadata"]["annotations"] == {
        "batch.kubernetes.io/job-completion-index": "1",
        "batch.kubernetes.io/job-index-failure-count": "2",
        "batch.kubernetes.io/job-index-ignored-failure-count": "1",
    }
    assert pod["spec"]["hostname"] == "sum-1"
    assert [variable["name"] for variable in pod["spec"]["containers"][0]["env"]] == ["JOB_COMPLETION_INDEX"]
    assert "env" not in job["spec"]["template"]["spec"]["containers"][0]


def test_failed_pods_are_replaced_after_a_pause() -> None:
    failed = a_job_pod("a", "Failed", status=exited(1))
    decided = plan(observed([failed]), NOW)
    assert decided.create == (Wanted(),), "the first pause of 10 s is over after 20 s"
    third = plan(Observed(a_job({"failed": 2}), (failed,), backoff=Backoff(2, NOW)), NOW)
    assert third.create == ()
    assert third.backoff.failures == 3
    assert third.look_again == 20, "40 s after the third failure, which was 20 s ago"


POLICY = {
    "rules": [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
    ]
}


@pytest.mark.parametrize(
    ("pods", "status", "spec", "reason"),
    [
        ([a_job_pod("a", "Failed")], {}, {"backoffLimit": 0}, "BackoffLimitExceeded"),
        ([a_job_pod("a", "Failed")], {"failed": 2}, {"backoffLimit": 2}, "BackoffLimitExceeded"),
        ([a_job_pod("a", "Failed")], {"failed": 1}, {"backoffLimit": 2}, ""),
        ([], {}, {"activeDeadlineSeconds": 30}, "DeadlineExceeded"),
        ([], {}, {"activeDeadlineSeconds": 31}, ""),
        ([], {}, {"activeDeadlineSeconds": 30, "suspend": True}, ""),
        ([a_job_pod("a", "Failed", status=exited(42))], {}, {"podFailurePolicy": POLICY}, "PodFailurePolicy"),
        ([a_job_pod("a", "Failed", status=exited(1))], {}, {"podFailurePolicy": POLICY}, ""),
        (
            [a_job_pod("a", "Failed", status={"conditions": [{"type": "DisruptionTarget", "status": "True"}]})],
            {},
            {"podFailurePolicy": POLICY, "backoffLimit": 0},
            "",
        ),
        (
            [a_job_pod("a", "Failed", index=0, failures=1)],
            {"completedIndexes": "1"},
            {**INDEXED, "completions": 2, "backoffLimitPerIndex": 1},
            "FailedIndexes",
        ),
        (
            [a_job_pod("a", "Failed", index=0, failures=0)],
            {},
            {**INDEXED, "completions": 3, "backoffLimitPerIndex": 0, "maxFailedIndexes": 0},
            "MaxFailedIndexesExceeded",
        ),
        (
            [a_job_pod("a", "Succeeded", index=0)],
            {},
            {**INDEXED, "completions": 3, "successPolicy": {"rules": [{"succeededIndexes": "0"}]}},
            "SuccessPolicy",
        ),
    ],
    ids=[
        "no failure allowed",
        "limit reached",
        "limit not reached",
        "deadline passed",
        "deadline not passed",
        "a suspended job has no deadline",
        "exit code fails the job",
        "other exit code counts",
        "disruption is ignored",
        "every index is done and some failed",
        "too many indexes failed",
        "enough indexes succeeded",
    ],
)
def test_a_job_ends(pods: list[PodView], status: Obj, spec: dict[str, Any], reason: str) -> None:
    ending = plan(observed(pods, status, **spec), NOW).ending
    assert (ending or {}).get("reason", "") == reason


def test_the_failure_policy_names_the_pod_and_the_rule() -> None:
    ending = plan(observed([a_job_pod("a", "Failed", status=exited(42))], podFailurePolicy=POLICY), NOW).ending
    assert ending is not None
    expected = "Container c for pod default/a failed with exit code 42 matching FailJob rule at index 1"
    assert ending["message"] == expected


def test_restarts_in_place_count_as_failures() -> None:
    template = {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "c"}]}}
    pod = a_job_pod("a", status={"containerStatuses": [{"name": "c", "restartCount": 2}]})
    assert plan(observed([pod], backoffLimit=2, template=template), NOW).ending is not None
    assert plan(observed([pod], backoffLimit=3, template=template), NOW).ending is None


def test_a_pod_of_an_index_is_replaced_with_its_failures_counted() -> None:
    failed = a_job_pod("a", "Failed", index=0, failures=1, status=exited(1), age=100)
    spec: Obj = {**INDEXED, "completions": 1, "backoffLimitPerIndex": 5}
    decided = plan(observed([failed], **spec), NOW)
    assert decided.create == (Wanted(0, failures=2),), "20 s, the pause after a second failure, are just over"
    late = a_job_pod("a", "Failed", index=0, failures=2, status=exited(1), age=100)
    assert plan(observed([late], **spec), NOW).look_again == 20


def test_the_end_waits_until_all_pods_are_deleted() -> None:
    seen = observed([a_job_pod("a", "Failed"), a_job_pod("b")], backoffLimit=0, completions=2, parallelism=2)
    decided = plan(seen, NOW)
    assert [pod.metadata.name for pod in decided.delete] == ["b"]
    done = conclude(decided, seen, Outcome(1), NOW)
    assert (done.active, done.terminating, done.ending) == (0, 1, decided.ending)
    stuck = conclude(decided, seen, Outcome(0, Forbidden("no")), NOW)
    assert (stuck.active, stuck.ending) == (1, None)


def test_success_needs_the_last_pod_to_have_ended() -> None:
    running = observed([a_job_pod("a", "Succeeded"), a_job_pod("b")])
    decided = plan(running, NOW)
    assert [pod.metadata.name for pod in decided.delete] == ["b"], "one success is all it takes"
    assert conclude(decided, running, Outcome(0, Forbidden("no")), NOW).ending is None
    done = observed([a_job_pod("a", "Succeeded")])
    ending = conclude(plan(done, NOW), done, Outcome(), NOW).ending
    assert ending is not None
    assert (ending["type"], ending["reason"]) == ("SuccessCriteriaMet", "CompletionsReached")


def test_suspending_and_resuming_are_noted_once() -> None:
    seen = observed([], suspend=True)
    found = conclude(plan(seen, NOW), seen, Outcome(), NOW)
    assert (found.event, found.start_time) == (("Suspended", "Job suspended"), None)
    assert [(c["type"], c["status"], c["reason"]) for c in found.conditions] == [("Suspended", "True", "JobSuspended")]
    again = observed([], {"conditions": list(found.conditions), "startTime": None}, suspend=True)
    assert conclude(plan(again, NOW), again, Outcome(), NOW).event is None
    resumed = observed([a_job_pod("a")], {"conditions": list(found.conditions), "startTime": None})
    found = conclude(plan(resumed, NOW), resumed, Outcome(), NOW)
    assert (found.event, found.start_time) == (("Resumed", "Job resumed"), ago(0))
    assert [(c["status"], c["reason"]) for c in found.conditions] == [("False", "JobResumed")]
