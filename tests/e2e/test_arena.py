# SPDX-License-Identifier: Apache-2.0
"""Arena's own binary submits the document's job, which is taken as it is: without GPUs its workers wait for them."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests import arena
from tests.e2e.training_jobs import Scaled
from tests.programs.world import Cluster, Obj

pytestmark = pytest.mark.timeout(900)  # it is built once

SUBMIT = (
    *("submit", "etjob", f"--name={arena.NAME}", "--gpus=1", "--workers=3", "--max-workers=9", "--min-workers=1"),
    *(f"--image={arena.IMAGE}", "--working-dir=/examples"),
)


@dataclass(frozen=True)
class Arena:
    built: Path
    """Where the program and its charts are."""
    home: Path
    cluster: Cluster

    def __post_init__(self) -> None:
        """It looks for its charts at home, and for kubectl by a name of its own."""
        (self.home / "charts").symlink_to(self.built / "charts")
        (self.home / "arena-kubectl").symlink_to(self.cluster.tools / "kubectl")

    def __call__(self, *words: str) -> str:
        kubectl = self.cluster.kubectl
        command = [str(self.built / "arena"), "-n", kubectl.namespace, *words]
        environment = {
            "HOME": str(self.home),
            "KUBECONFIG": str(kubectl.kubeconfig),
            "PATH": f"{self.home}:{os.environ['PATH']}",
        }
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def built() -> Path:
    return arena.built()


def bare(obj: Obj) -> Obj:
    """Without what differs from one submission or user to the next, and what others add."""
    labels = {
        name: value for name, value in obj["metadata"].get("labels", {}).items() if "arena.kubeflow.org" not in name
    }
    return {"labels": labels, "type": obj.get("type"), "keys": sorted(obj.get("data", {}))}


def test_it_submits_what_the_tests_say_it_does_and_the_job_takes_it(
    space: Cluster, built: Path, tmp_path: Path
) -> None:
    run, (secret, job) = Arena(built, tmp_path, space), arena.etjob()
    launcher = job["spec"]["etReplicaSpecs"]["launcher"]["template"]["spec"]["containers"][0]
    said = run(*SUBMIT, launcher["command"][-1])
    assert f"trainingjob.kai.alibabacloud.com/{arena.NAME} created" in said
    assert f"The Job {arena.NAME} has been submitted successfully" in said
    found = Scaled(space, arena.NAME)
    assert found.object()["spec"]["etReplicaSpecs"]["launcher"]["template"]["spec"]["containers"][0] == launcher
    assert bare(found.object()) == bare(job)
    keys = space.get("secret", arena.NAME)
    assert (keys["type"], sorted(keys["data"])) == (secret["type"], sorted(secret["data"]))
    assert bare(space.get("configmap", f"{arena.NAME}-etjob")) == bare(arena.bookkeeping())
    space.until(lambda: len(found.pods("Worker")) == 3, "workers")
    assert "NameTaken" not in found.conditions()
    assert arena.NAME in run("list")
    run("delete", arena.NAME, "-T", "etjob")
    space.until(lambda: not found.pods("Worker"), "no workers")
    assert space.kubectl.run("get", "secret", arena.NAME).returncode != 0
