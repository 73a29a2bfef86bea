# SPDX-License-Identifier: Apache-2.0
"""Arena's own program, ours, and Arena's Python SDK, side by side on the same jobs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests import arena
from tests.e2e import with_stateful_sets
from tests.e2e.training_jobs import Scaled
from tests.programs.world import Cluster, Obj

pytestmark = pytest.mark.timeout(900)  # it is built once


PROGRAM = Path(__file__).parent / "programs" / "arena_sdk.py"
ETJOB = ("submit", "etjob", "--name=bert", "--image=shell", "--workers=2", "--max-workers=3", "sleep 600")
"""Trains on without GPUs; the program is this machine's."""


@pytest.fixture(scope="module")
def built() -> Path:
    return arena.built()


@pytest.fixture
def theirs(space: Cluster, built: Path, tmp_path: Path) -> Iterator[arena.Arena]:
    kubectl = space.kubectl
    with with_stateful_sets.served(kubectl.kubeconfig, tmp_path) as kubeconfig:
        yield arena.Arena(built, tmp_path, str(space.tools / "kubectl"), str(kubeconfig), kubectl.namespace)


@dataclass(frozen=True)
class Ours:
    """Our `arena` at work on a cluster."""

    space: Cluster

    @property
    def environment(self) -> dict[str, str]:
        return self.space.tide.environment | {"KUBECONFIG": str(self.space.kubectl.kubeconfig)}

    def __call__(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, done
        return done.stdout + done.stderr

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = ["arena", "-n", self.space.kubectl.namespace, *words]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)

    def got(self, name: str) -> Any:
        return json.loads(self("get", name, "-o", "json"))


@pytest.fixture
def ours(space: Cluster) -> Ours:
    return Ours(space)


def bare(obj: Obj) -> Obj:
    """Without what differs from one submission or user to the next, and what others add."""
    labels = {
        name: value for name, value in obj["metadata"].get("labels", {}).items() if "arena.kubeflow.org" not in name
    }
    return {"labels": labels, "type": obj.get("type"), "keys": sorted(obj.get("data", {}))}


def test_it_submits_what_the_tests_say_it_does_and_the_job_takes_it(space: Cluster, theirs: arena.Arena) -> None:
    run, (secret, job) = theirs, arena.etjob()
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


def objects(space: Cluster) -> set[str]:
    """Of the namespace, as far as jobs make them."""
    found = space.kubectl("get", "configmap,secret,trainingjob,scaleout,scalein,pod", "-o", "name").split()
    return {name for name in found if name != "configmap/kube-root-ca.crt"}


def test_arenas_program_lists_gets_scales_and_deletes_what_ours_submitted(
    space: Cluster, theirs: arena.Arena, ours: Ours
) -> None:
    ours(*ETJOB)
    space.until(lambda: ours.got("bert")["status"] == "RUNNING", "running")
    assert "bert" in theirs("list")
    theirs_got, ours_got = json.loads(theirs("get", "bert", "-o", "json")), ours.got("bert")
    assert theirs_got.keys() == ours_got.keys()
    same = {"uuid", "name", "namespace", "status", "trainer", "chiefName", "priority", "requestGPUs", "allocatedGPUs"}
    assert {key: theirs_got[key] for key in same} == {key: ours_got[key] for key in same}
    names = [sorted(each["name"] for each in got["instances"]) for got in (theirs_got, ours_got)]
    assert names[0] == names[1]
    assert len(names[0]) == 3
    # The bounds are in the annotation of `kubectl apply`, which only Arena's program reads.
    assert "exceeds the max-workers" in theirs.refused("scaleout", "etjob", "--name=bert", "--count=2")
    theirs("scaleout", "etjob", "--name=bert", "--count=1")
    space.until(lambda: len(Scaled(space, "bert").pods("Worker")) == 3, "a third worker")
    theirs("delete", "bert")
    space.until(lambda: not objects(space), "nothing")


def test_ours_lists_gets_scales_and_deletes_what_arenas_program_submitted(
    space: Cluster, theirs: arena.Arena, ours: Ours
) -> None:
    theirs(*ETJOB)
    space.until(lambda: ours.got("bert")["status"] == "RUNNING", "running")
    assert "bert" in ours("list")
    refused = ours.run(*ETJOB)
    assert refused.returncode == 1
    assert "the job bert is already exist, please delete it first. use 'arena delete bert'" in refused.stderr
    assert "exceeds the max-workers" in ours.run("scaleout", "etjob", "--name=bert", "--count=2").stderr
    said = ours("scaleout", "etjob", "--name=bert", "--count=1", "--timeout=1m")
    assert "The scaleout job bert-" in said
    space.until(lambda: len(Scaled(space, "bert").pods("Worker")) == 3, "a third worker")
    ours("delete", "bert")
    space.until(lambda: not objects(space), "nothing")


@pytest.mark.parametrize(
    "words", ["list", "list -A -T tf", "list -T et -o json", "top node", "top node -o json", "data list", "whoami"]
)
def test_both_print_the_same(theirs: arena.Arena, ours: Ours, words: str) -> None:
    assert theirs(*words.split()) == ours(*words.split())


def test_a_command_runs_in_an_instance_and_ended_jobs_are_pruned(space: Cluster, ours: Ours) -> None:
    ours(*ETJOB)
    space.until(lambda: ours.got("bert")["status"] == "RUNNING", "running")
    assert "bert-worker-1" in ours("attach", "bert", "-i", "bert-worker-1", "--", "hostname")
    failed = ours.run("attach", "bert", "--", "sh", "-c", "exit 3")
    assert (failed.returncode, "command terminated with exit code 3" in failed.stderr) == (1, True)
    assert "  bert-launcher  Running" in ours("top", "job", "bert")
    assert ours("prune", "--since=0s") == "No job need to be deleted\n"
    ours("submit", "pytorchjob", "--name=short", "--image=shell", "echo hello")
    space.until(lambda: ours.got("short")["status"] == "SUCCEEDED", "succeeded")
    assert ours("logs", "short") == "hello\n"
    assert "trainer: pytorchjob\n" in ours("list", "-o", "yaml")
    assert ours("prune", "--since=0s").startswith("Delete pytorchjob short with Age ")
    assert ours("list", "-T", "pytorch").count("\n") == 1
    ours("del", "bert", "-T", "ElasticTraining")


def test_the_python_sdk_drives_ours(space: Cluster, built: Path, ours: Ours, tmp_path: Path) -> None:
    (tmp_path / "coloredlogs.py").write_text("def install(**options): ...\n")  # colours of its own log
    path = os.pathsep.join((str(built), str(tmp_path)))
    words = (space.kubectl.namespace, "bert", "shell", '"sleep 600"')
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *words],
        env=ours.environment | {"PYTHONPATH": path, "LOG_LEVEL": "ERROR"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{done.stderr}\n{space.picture()}"
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["before"], told["after"]) == (None, None)
    assert "trainingjob.kai.alibabacloud.com/bert created" in told["submitted"]
    assert told["got"] == {
        "name": "bert", "type": "etjob", "chief": "bert-launcher", "instances": ["bert-launcher", "bert-worker-0"]
    }  # fmt: skip
    assert "TrainingJobExistError" in told["again"]
    assert "scaleout.kai.alibabacloud.com/bert-" in told["scaled"]
    assert "one" in told["nodes"]
