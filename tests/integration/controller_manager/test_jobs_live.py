# SPDX-License-Identifier: Apache-2.0
"""Batch Jobs against the embedded server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.integration.controller_manager.world import World, a_world

from springtide.kube import errors
from springtide.kube.resources import JOBS, PODS, Obj
from springtide.local.controller_manager.batch import job_cleanup, job_orphans, jobs


def a_job(name: str = "sum", **spec: Any) -> Obj:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


def condition_types(job: Obj) -> list[str]:
    return [c["type"] for c in job["status"].get("conditions", ()) if c["status"] == "True"]


async def finish(world: World, phase: str = "Succeeded") -> None:
    for pod in await world.pods():
        if pod["status"]["phase"] == "Pending":
            await world.report(pod, phase)


async def test_a_job_runs_to_completion_and_counts_each_pod_once(tmp_path: Path) -> None:
    async with a_world(tmp_path, jobs, job_orphans) as world:
        await world.create(JOBS, a_job(completions=5, parallelism=2))

        async def working() -> Obj:
            await finish(world)
            return await world.get(JOBS, "sum")

        job = await world.until(working, lambda job: "Complete" in condition_types(job))
        assert condition_types(job) == ["SuccessCriteriaMet", "Complete"]
        status = job["status"]
        assert (status["succeeded"], status["ready"], status["terminating"]) == (5, 0, 0)
        assert "active" not in status
        assert status["uncountedTerminatedPods"] == {}
        assert status["completionTime"] >= status["startTime"]
        pods = await world.pods()
        assert len(pods) == 5
        assert all("finalizers" not in pod["metadata"] for pod in pods)
        assert await world.until(lambda: world.events("Completed"), bool) == ["Job completed"]


async def test_an_indexed_job_gives_every_pod_its_index(tmp_path: Path) -> None:
    async with a_world(tmp_path, jobs) as world:
        await world.create(JOBS, a_job(completions=3, parallelism=3, completionMode="Indexed"))
        pods = await world.until_pods(3)
        label = "batch.kubernetes.io/job-completion-index"
        assert sorted(pod["metadata"]["labels"][label] for pod in pods) == ["0", "1", "2"]
        assert {pod["spec"]["hostname"] for pod in pods} == {"sum-0", "sum-1", "sum-2"}
        environment = pods[0]["spec"]["containers"][0]["env"]
        assert environment[0]["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{label}']"
        await finish(world)
        job = await world.until_object(JOBS, "sum", lambda job: "Complete" in condition_types(job))
        assert job["status"]["completedIndexes"] == "0-2"


async def test_a_job_fails_when_its_limit_is_reached(tmp_path: Path) -> None:
    async with a_world(tmp_path, jobs) as world:
        await world.create(JOBS, a_job(backoffLimit=0, parallelism=2, completions=2))
        first, _ = await world.until_pods(2)
        await world.report(first, "Failed")
        job = await world.until_object(JOBS, "sum", lambda job: "Failed" in condition_types(job))
        assert condition_types(job) == ["FailureTarget", "Failed"]
        reasons = {c["reason"] for c in job["status"]["conditions"]}
        assert reasons == {"BackoffLimitExceeded"}
        assert [pod["metadata"]["name"] for pod in await world.pods()] == [first["metadata"]["name"]]


async def test_a_suspended_job_loses_its_pods_and_gets_new_ones_when_resumed(tmp_path: Path) -> None:
    async with a_world(tmp_path, jobs) as world:
        await world.create(JOBS, a_job(parallelism=2, completions=2))
        await world.until_pods(2)
        await world.patch(JOBS, "sum", {"spec": {"suspend": True}})
        await world.until_pods(0)
        job = await world.until_object(JOBS, "sum", lambda job: "Suspended" in condition_types(job))
        assert "startTime" not in job["status"]
        await world.patch(JOBS, "sum", {"spec": {"suspend": False}})
        await world.until_pods(2)
        job = await world.until_object(JOBS, "sum", lambda job: "Suspended" not in condition_types(job))
        assert job["status"]["startTime"]


async def test_a_finished_job_is_deleted_when_its_time_is_up(tmp_path: Path) -> None:
    async with a_world(tmp_path, jobs, job_cleanup) as world:
        await world.create(JOBS, a_job(ttlSecondsAfterFinished=0))
        await world.until_pods(1)
        await finish(world)
        # Deleted in the foreground: garbage collection, which does not run here, would take it from there.
        await world.until_object(JOBS, "sum", lambda job: "deletionTimestamp" in job["metadata"])


async def test_pods_of_a_job_that_is_gone_can_be_deleted(tmp_path: Path) -> None:
    async with a_world(tmp_path, jobs, job_orphans) as world:
        await world.create(JOBS, a_job())
        (pod,) = await world.until_pods(1)
        await world.delete(JOBS, "sum")
        await world.until(world.pods, lambda pods: "finalizers" not in pods[0]["metadata"])
        await world.delete(PODS, pod["metadata"]["name"])
        with pytest.raises(errors.NotFound):
            await world.get(PODS, pod["metadata"]["name"])
