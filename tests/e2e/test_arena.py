# SPDX-License-Identifier: Apache-2.0
"""Arena's own binary submits the document's job, which is taken as it is: without GPUs its workers wait for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import arena
from tests.e2e.training_jobs import Scaled
from tests.programs.world import Cluster, Obj

pytestmark = pytest.mark.timeout(900)  # it is built once


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
    kubectl, (secret, job) = space.kubectl, arena.etjob()
    run = arena.Arena(built, tmp_path, str(space.tools / "kubectl"), str(kubectl.kubeconfig), kubectl.namespace)
    launcher = job["spec"]["etReplicaSpecs"]["launcher"]["template"]["spec"]["containers"][0]
    said = run(*arena.SUBMIT, launcher["command"][-1])
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
