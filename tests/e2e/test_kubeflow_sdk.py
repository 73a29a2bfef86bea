# SPDX-License-Identifier: Apache-2.0
"""Kubeflow's Python SDK, unchanged: jobs are created, listed, waited for, read, updated and deleted by it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e_elastic import environments
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(300)

PROGRAM = Path(__file__).parent / "programs" / "kubeflow_sdk.py"
LEADERS = {"TFJob": "chief-0", "PyTorchJob": "master-0", "MPIJob": "launcher"}


def used(space: Cluster, kind: str) -> dict[str, Any]:
    """What the SDK's calls gave; the program's own output is its last line."""
    done = subprocess.run(
        [str(environments.python(environments.KUBEFLOW_SDK)), str(PROGRAM), kind, space.kubectl.namespace],
        env=os.environ | {"KUBECONFIG": str(space.kubectl.kubeconfig)},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, f"{done.stderr}\n{space.picture()}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def without_run_policy(kind: str) -> str:
    """A job that a user of kubectl left there; the SDK's models need the field."""
    container = {"name": {"TFJob": "tensorflow", "PyTorchJob": "pytorch"}[kind], "image": "shell", "command": ["true"]}
    specs = {"TFJob": "tfReplicaSpecs", "PyTorchJob": "pytorchReplicaSpecs"}[kind]
    spec = {specs: {"Worker": {"template": {"spec": {"containers": [container]}}}}}
    manifest = {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": "other"}, "spec": spec}
    return str(yaml.safe_dump(manifest))


@pytest.mark.parametrize("kind", LEADERS)
def test_a_job_lives_in_the_hands_of_the_sdk(space: Cluster, kind: str) -> None:
    others = [] if kind == "MPIJob" else ["other"]
    if others:
        space.kubectl("create", "-f", "-", stdin=without_run_policy(kind))
    found = used(space, kind)
    leader, workers = f"digits-{LEADERS[kind]}", ["digits-worker-0", "digits-worker-1"]
    assert (found["got"], found["listed"]) == (kind, ["digits", *others])
    assert found["running"]
    assert found["pods"] == {
        "all": sorted([leader, *workers]),
        "master": [leader],
        "leader": [leader],
        "workers": workers,
        "second": [workers[1]],
    }
    assert found["changed"] == 3600
    assert found["succeeded"]
    assert found["completed"]
    assert found["conditions"][-1] == ["Succeeded", "True"]
    assert found["logs"] == {leader: f"{leader} trains\n"}
    assert found["followed"].keys() == {leader}
    assert {f"{kind.lower()}/digits", f"pod/{leader}"} <= set(found["events"])
    assert "Failed to get" in found["gone"]
    if kind != "MPIJob":
        assert "Failed to update" in found["resized"]
        (said,) = found["function"].values()
        assert "a function trains" in said
