# SPDX-License-Identifier: Apache-2.0
"""What becomes of training when its launcher goes: by somebody's hand, or with its node."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.e2e.jobs import V1, V2, Job, mpijob, submitted
from tests.e2e.test_tiderun import OPTIONS, progress
from tests.programs.world import Cluster, Obj, node_of

GOING = "ToBeDeletedByClusterAutoscaler"
"""The taint by which a cluster autoscaler says that it takes a node away."""
pytestmark = pytest.mark.timeout(300)

PROGRAM = (Path(__file__).parents[1] / "integration" / "elastic" / "saved.py").read_text()
NEVER = "100000"
"""Commits until the first checkpoint that nobody asks for."""


def training(folder: Path | None, version: str = V1, every: str = NEVER) -> Obj:
    """Ten steps a second, for ever. With a folder it keeps checkpoints there."""
    command = ["tiderun", *OPTIONS, "python", "-c", PROGRAM, "/checkpoints" if folder else "", every]
    manifest = mpijob("tide", command, version=version, image="any")
    if folder is not None:
        spec = manifest["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
        spec["volumes"] = [{"name": "checkpoints", "hostPath": {"path": str(folder)}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "checkpoints", "mountPath": "/checkpoints"}]
    return manifest


def until_step(job: Job, step: int) -> None:
    job.cluster.until(lambda: job.said(f"step {step}\n"), f"step {step}", job.patience)


def until_told(job: Job, reason: str) -> str:
    job.cluster.until(lambda: job.messages(reason), reason, job.patience)
    return job.messages(reason)[-1]


def resumed(job: Job, before: str) -> int:
    """The step at which another launcher goes on."""

    def another() -> re.Match[str] | None:
        name = job.launcher()
        pod = job.pods("Launcher").get(name)
        if pod is None or pod["metadata"]["uid"] == before:
            return None
        return re.search(r"the checkpoint is of step (\d+)", job.cluster.kubectl.run("logs", name).stdout)

    job.cluster.until(another, "another launcher goes on", job.patience)
    found = another()
    assert found
    return int(found[1])


def uid(job: Job) -> str:
    return str(job.pods("Launcher")[job.launcher()]["metadata"]["uid"])


def test_without_checkpoints_a_warning_says_what_is_lost(space: Cluster) -> None:
    job = submitted(space, training(None))
    until_step(job, 20)
    space.until(lambda: progress(job).get("step", 0) > 5, "progress is reported")
    space.kubectl("delete", "pod", job.launcher())
    said = until_told(job, "TrainingSetBack")
    assert re.match(
        r"The launcher (was deleted|is gone); training falls back from step \d+ to its start, because", said
    )
    assert job.conditions()["TrainingSetBack"]["message"] == said
    until_step(job, 3)


@pytest.mark.parametrize("version", [V1, V2])
def test_a_launcher_that_is_deleted_loses_nothing_of_a_run_that_keeps_checkpoints(
    space: Cluster, tmp_path: Path, version: str
) -> None:
    job = submitted(space, training(tmp_path, version))
    until_step(job, 20)
    before = uid(job)
    space.kubectl("delete", "pod", job.launcher())
    assert resumed(job, before) >= 20


def test_a_launcher_avoids_spot_nodes_and_leaves_a_node_that_is_going(space: Cluster, tmp_path: Path) -> None:
    """There is more room on the spot nodes."""
    for name in ("spot-a", "spot-b"):
        space.tide.ok("node", "add", f"{name}=cpu:64,memory:64Gi,spot")
    try:
        job = submitted(space, training(tmp_path, every="1"))
        until_step(job, 20)
        node, before = node_of(job.pods("Launcher")[job.launcher()]), uid(job)
        assert not node.startswith("spot")
        space.until(lambda: progress(job).get("checkpoint"), "the checkpoint is reported")
        space.kubectl("taint", "node", node, f"{GOING}=1:NoSchedule")
        try:
            assert node in until_told(job, "LauncherMoved")
            step = resumed(job, before)
            assert step >= 20
            assert f"step {step}, its last checkpoint" in until_told(job, "TrainingSetBack")
            assert node_of(job.pods("Launcher")[job.launcher()]) != node
            assert "Failed" not in job.conditions()
            assert not job.status.get("restarts")
        finally:
            space.kubectl("taint", "node", node, f"{GOING}-")
    finally:
        for name in ("spot-a", "spot-b"):
            space.tide.ok("node", "remove", name)
