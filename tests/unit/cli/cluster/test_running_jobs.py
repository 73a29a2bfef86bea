# SPDX-License-Identifier: Apache-2.0
"""What `tide down` says of jobs that run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from springtide.cli.cluster import running_jobs
from springtide.cli.cluster.running_jobs import RunningJob
from springtide.cli.speaking import shown
from springtide.messages import text

NAMED = {"namespace": "default", "name": "a"}
IGNORES = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}


def job(**spec: Any) -> dict[str, Any]:
    return {"metadata": NAMED, "spec": {"backoffLimit": 6, **spec}, "status": {"active": 1}}


def told(job: RunningJob | None) -> tuple[str, str] | None:
    return (job.name, shown(job.fate)) if job else None


def test_no_job_no_word() -> None:
    assert running_jobs.told([], keep_pods=False) == ""


def test_a_job_and_its_fate() -> None:
    said = running_jobs.told([RunningJob("MPIJob default/a", text("starts from the beginning"))], keep_pods=False)
    assert said == "1 job is running. With the next `tide up`:\n  MPIJob default/a starts from the beginning\n"


def test_jobs_whose_pods_are_kept_have_no_fate() -> None:
    said = running_jobs.told([RunningJob(f"MPIJob default/{name}", text("starts")) for name in "ab"], keep_pods=True)
    head = "2 jobs are running, and so it stays; the next `tide up` takes the pods over:\n"
    assert said == head + "  MPIJob default/a\n  MPIJob default/b\n"


def test_the_list_is_short() -> None:
    said = running_jobs.told(
        [RunningJob(f"Job default/{number}", text("x")) for number in range(1000)], keep_pods=False
    )
    assert len(said.splitlines()) == 12
    assert said.endswith("  and 990 more\n")


@pytest.mark.parametrize(
    ("status", "fate"),
    [
        ({"state": "Running"}, "starts from the beginning"),
        (
            {"state": "Scaling out", "minReplicas": 1},
            "continues from its last checkpoint, or from the beginning if it has none",
        ),
        ({"state": "Suspended"}, None),
        ({"state": "Succeeded"}, None),
        ({"state": "Failed"}, None),
        ({"state": "Created"}, None),
        ({}, None),
    ],
)
def test_what_becomes_of_an_mpijob(status: dict[str, Any], fate: str | None) -> None:
    found = running_jobs.training_job("MPIJob", {"metadata": NAMED, "status": status})
    assert told(found) == (("MPIJob default/a", fate) if fate else None)


@pytest.mark.parametrize(
    ("found", "fate"),
    [
        (job(), "starts from the beginning; each pod counts towards its backoffLimit (6)"),
        (job(podFailurePolicy=IGNORES), "starts from the beginning"),
        (job() | {"status": {}}, None),
        (job() | {"metadata": NAMED | {"ownerReferences": [{"kind": "MPIJob", "controller": True}]}}, None),
    ],
)
def test_what_becomes_of_a_batch_job(found: dict[str, Any], fate: str | None) -> None:
    assert told(running_jobs.batch_job(found)) == (("Job default/a", fate) if fate else None)


def test_a_cluster_that_was_never_up_has_no_jobs(tmp_path: Path) -> None:
    assert running_jobs.notice(tmp_path / "kubeconfig", keep_pods=False) == ""


def test_a_server_that_does_not_answer_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text("nonsense")
    assert "does not answer" in running_jobs.notice(tmp_path / "kubeconfig", keep_pods=False)
