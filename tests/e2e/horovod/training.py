# SPDX-License-Identifier: Apache-2.0
"""A training job of the users' document, and what its log tells of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import yaml
from tests import documents
from tests.e2e.jobs import V1, Job, submitted
from tests.programs.world import Cluster, Obj

MANIFEST = documents.MANIFESTS / "tensorflow-mnist-elastic.yaml"
NAME = "tensorflow-mnist-elastic"
BATCH_SIZE = 32
_STEP = re.compile(r"step (\d+) size (\d+) examples (\d+) loss \S+")
_RANK = re.compile(r"rank (\d+) of (\d+) on (\S+) from step (\d+)")


class Step(NamedTuple):
    number: int
    size: int
    examples: int


@dataclass(frozen=True)
class Training(Job):
    """It goes on until told otherwise, where it has a file for that. To import TensorFlow takes long on few cores."""

    patience: float = 300.0
    control: Path = Path("/nowhere")

    def steps(self) -> list[Step]:
        return [Step(*map(int, found)) for found in _STEP.findall(self.log())]

    def size(self) -> int:
        steps = self.steps()
        return steps[-1].size if steps else 0

    def hosts(self) -> set[str]:
        """On which ranks were ever started."""
        return {host for _, _, host, _ in _RANK.findall(self.log())}

    def log(self) -> str:
        pod = self.launcher()
        return self.cluster.kubectl.run("logs", pod).stdout if pod else ""

    def until_size(self, size: int) -> None:
        def trains() -> bool:
            assert not {"Succeeded", "Failed"} & set(self.conditions()), self.picture()
            return self.size() == size

        self.cluster.until(trains, f"training with {size} workers", self.patience)

    def finish(self) -> None:
        """In a few steps."""
        self.control.write_text(str(self.steps()[-1].number + 20))
        self.until("Succeeded")


def endless(cluster: Cluster, control: Path, version: str = V1) -> Training:
    """The document's job, but that a file says how long it lasts."""
    control.write_text("1000000")
    manifest: Obj = yaml.safe_load(MANIFEST.read_text()) | {"apiVersion": version}
    for role in manifest["spec"]["mpiReplicaSpecs"].values():
        spec = role["template"]["spec"]
        spec["volumes"] = [{"name": "control", "hostPath": {"path": str(control.parent)}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "control", "mountPath": "/control"}]
        spec["containers"][0]["env"] = [{"name": "BATCHES", "value": f"/control/{control.name}"}]
    submitted(cluster, manifest)
    return Training(cluster, NAME, control=control)


def check(steps: list[Step]) -> None:
    """Each step once and in its order, and nothing that was learnt was forgotten."""
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    examples = 0
    for step in steps:
        examples += BATCH_SIZE * step.size
        assert step.examples == examples, step


def committed(steps: list[Step]) -> list[Step]:
    """Where ranks die, the last step that was told of may not have been committed: then it is done once more."""
    found: list[Step] = []
    for step in steps:
        if found and found[-1].number == step.number:
            found.pop()
        found.append(step)
    return found
