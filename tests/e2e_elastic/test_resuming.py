# SPDX-License-Identifier: Apache-2.0
"""Jobs of which nothing is left for a while: they go on from a checkpoint on a volume, or say that they start over."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.jobs import V1, V2
from tests.e2e_elastic.examples import Example, created
from tests.programs.world import Cluster, Obj

pytestmark = pytest.mark.timeout(500)
Space = Callable[..., Cluster]
RESUMED = r"training continues from /checkpoints/commit-(\d+)(?s:.*?)\bstep (\d+) of"


def keeping(folder: Path, version: str = V1) -> Callable[[Obj], None]:
    """A job that keeps what it has learned in this folder, and whose launcher is tried again."""

    def change(job: Obj) -> None:
        job["apiVersion"] = version
        launcher, worker = (job["spec"]["mpiReplicaSpecs"][role] for role in ("Launcher", "Worker"))
        launcher["restartPolicy"] = "OnFailure"
        launcher["template"]["spec"]["containers"][0]["args"] += ["--checkpoint", "/checkpoints"]
        spec = worker["template"]["spec"]
        spec["volumes"].append({"name": "checkpoints", "hostPath": {"path": str(folder)}})
        spec["containers"][0]["volumeMounts"].append({"name": "checkpoints", "mountPath": "/checkpoints"})

    return change


def kept(folder: Path) -> list[int]:
    """The steps after which something was, oldest first."""
    return sorted(int(path.name.rpartition("-")[2]) for path in folder.glob("commit-*"))


def suspend(job: Example) -> None:
    job.patch(runPolicy={"suspend": True})
    job.until("Suspended")
    job.cluster.until(lambda: not job.pods("Worker") and not job.pods("Launcher"), "no pods")


def resumed(job: Example) -> int:
    """The step it went on from; it comes to its end."""
    found = job.until_said(RESUMED)
    kept, step = int(found[1]), int(found[2])
    assert kept < step <= kept + 3, "the first that it told of"
    check_end(job.finish())
    return kept


def check_end(log: str) -> None:
    assert re.search(r"step 480 accuracy 0\.9\d+ size 2$", log, re.MULTILINE), log


def test_a_job_that_was_suspended_goes_on_where_it_was(space: Space, tmp_path: Path) -> None:
    job = created(space("digits"), "digits", keeping(tmp_path, V2))
    job.until_said("there is no checkpoint: training starts from the beginning")
    job.cluster.until(lambda: len(kept(tmp_path)) == 2, "two checkpoints", job.patience)
    suspend(job)
    newest = kept(tmp_path)[-1]
    job.patch(runPolicy={"suspend": False})
    assert resumed(job) == newest


def test_of_a_damaged_checkpoint_the_one_before_it_is_used(space: Space, tmp_path: Path) -> None:
    job = created(space("digits"), "digits", keeping(tmp_path))
    job.cluster.until(lambda: len(kept(tmp_path)) == 2, "two checkpoints", job.patience)
    suspend(job)
    before, newest = kept(tmp_path)
    file = tmp_path / f"commit-{newest:012d}"
    file.write_bytes(file.read_bytes()[:-100])
    job.patch(runPolicy={"suspend": False})
    job.until_said(f"/checkpoints/{file.name} is damaged, now called damaged-{file.name}")
    assert resumed(job) == before


@pytest.mark.parametrize("version", [V1, V2], ids=["v1", "v2beta1"])
def test_a_job_goes_on_when_its_launcher_was_lost(space: Space, tmp_path: Path, version: str) -> None:
    job = created(space("digits"), "digits", keeping(tmp_path, version))
    job.cluster.until(lambda: kept(tmp_path), "a checkpoint", job.patience)
    job.cluster.kubectl("delete", "pod", job.launcher(), "--grace-period=0", "--force")
    assert resumed(job) >= 5


def test_a_job_goes_on_when_all_its_workers_were_lost(space: Space, tmp_path: Path) -> None:
    job = created(space("digits"), "digits", keeping(tmp_path))
    job.cluster.until(lambda: kept(tmp_path), "a checkpoint", job.patience)
    lose_workers(job)
    assert resumed(job) >= 5


def test_without_a_checkpoint_it_says_that_training_starts_over(space: Space) -> None:
    job = created(space("digits"), "digits")
    job.until_said(r"\bstep \d\d+ of")
    lose_workers(job)
    job.until_said(r"there is no checkpoint: training starts over(?s:.*?)\bstep \d of")
    check_end(job.finish())


def lose_workers(job: Example) -> None:
    """All at once."""
    job.cluster.kubectl("delete", "pod", *job.pods("Worker"), "--grace-period=0", "--force")
