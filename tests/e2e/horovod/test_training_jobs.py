# SPDX-License-Identifier: Apache-2.0
"""The document of TrainingJobs with Horovod itself and TensorFlow: as Arena renders the job, resized by scalers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests import arena
from tests.e2e import training_jobs
from tests.e2e.horovod import training
from tests.e2e.horovod.training import Training
from tests.programs.world import Cluster, Obj

pytestmark = pytest.mark.timeout(600)

GPUS = "gpus=nvidia.com/gpu:9"


@dataclass(frozen=True)
class HorovodJob(training_jobs.Scaled, Training):
    """Of the program that the documents' jobs run."""


def submitted(cluster: Cluster, control: Path, workers: int) -> HorovodJob:
    """The document's job, but that a file says how long it lasts."""
    control.write_text("1000000")
    secret, job = training_jobs.document(workers)
    for role in job["spec"]["etReplicaSpecs"].values():
        pod: Obj = role["template"]["spec"]
        (container,) = pod["containers"]
        container["image"] = "horovod/horovod:0.28.1"
        container["env"].append({"name": "BATCHES", "value": f"/control/{control.name}"})
        container["volumeMounts"].append({"name": "control", "mountPath": "/control"})
        pod["volumes"].append({"name": "control", "hostPath": {"path": str(control.parent)}})
    training_jobs.submitted(cluster, secret, job)
    return HorovodJob(cluster, arena.NAME, patience=300.0, control=control)


def test_a_training_job_is_scaled_out_and_in_and_out_again(here: Cluster, tmp_path: Path) -> None:
    here.tide.run("node", "add", GPUS)
    job = submitted(here, tmp_path / "batches", workers=2)
    job.until_size(2)
    training_jobs.created(here, arena.scaleout()).until("ScaleSucceeded")
    job.until_size(3)
    scalein = training_jobs.created(here, arena.scalein())
    scalein.until("ScaleSucceeded")
    assert "DrainTimeOver" in scalein.events(), "Horovod does not report that it no longer uses a host"
    assert f"{job.name}-worker-2" not in job.pods("Worker")
    job.until_size(2)
    job.scale_out(1).until("ScaleSucceeded")
    job.until_size(3)
    job.finish()
    training.check(job.steps())
    assert "lacklist" not in job.log()
    assert job.hosts() == {f"{job.name}-worker-{index}" for index in range(4)}
