# SPDX-License-Identifier: Apache-2.0
"""The examples as jobs: created from their manifests, and seen through their logs.

example = created(space, "digits")
example.until_size(2)
example.resize(3)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import yaml
from tests.e2e.jobs import Job
from tests.e2e_elastic.images import EXAMPLES
from tests.programs.world import Cluster, Obj

SLOW = {"digits": "0.004"}
"""Seconds for a sample; elsewhere half a second for a step: minutes for all of them, in which anything may happen."""


@dataclass(frozen=True)
class Example(Job):
    """To load a framework takes long where there are few cores."""

    patience: float = 150.0

    def log(self) -> str:
        """Of the youngest launcher, so far."""
        pod = self.launcher()
        return self.cluster.kubectl.run("logs", pod).stdout if pod else ""

    def until_said(self, pattern: str) -> re.Match[str]:
        found: list[re.Match[str]] = []

        def said() -> bool:
            found.extend(filter(None, [re.search(pattern, self.log())]))
            assert found or not {"Failed", "Succeeded"} & set(self.conditions()), f"{self.picture()}\n{self.log()}"
            return bool(found)

        self.cluster.until(said, pattern, self.patience)
        return found[-1]

    def until_size(self, size: int) -> None:
        """So many train, and there are no more workers than that."""

        def reached() -> bool:
            assert not {"Failed", "Succeeded"} & set(self.conditions()), f"{self.picture()}\n{self.log()}"
            lines = re.findall(r'^\{"springtide":"progress".*', self.log(), re.MULTILINE)
            return bool(lines) and json.loads(lines[-1])["size"] == size and len(self.pods("Worker")) == size

        self.cluster.until(reached, f"{size} ranks train, on {size} workers", self.patience)

    def pause(self, seconds: str) -> None:
        words = json.dumps({"data": {"pause": seconds}})
        self.cluster.kubectl("patch", "configmap", self.name, "--type=merge", "-p", words)

    def finish(self) -> str:
        """Without further rests; what its launcher has said in all."""
        self.pause("0")
        self.until("Succeeded")
        return self.log()


def created(cluster: Cluster, file: str, change: Callable[[Obj], None] = lambda job: None) -> Example:
    """From its manifest, at a pace that leaves time to resize it."""
    objects = list(yaml.safe_load_all((EXAMPLES / f"{file}.yaml").read_text()))
    (job,) = (each for each in objects if each["kind"] == "MPIJob")
    (settings,) = (each for each in objects if each["kind"] == "ConfigMap")
    settings["data"]["pause"] = SLOW.get(file, "0.5")
    change(job)
    cluster.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(objects))
    return Example(cluster, str(job["metadata"]["name"]))


def check_no_step_was_lost(log: str, every: int = 0) -> list[tuple[int, int]]:
    """Steps that were told of, with sizes: each once and in its order."""
    found = [(int(step), int(size)) for step, size in re.findall(r"\bstep (\d+) (?=.*\bloss ).*?\bsize (\d+)", log)]
    numbers = [step for step, _ in found]
    assert "going back" not in log, log
    assert all(before < after for before, after in pairwise(numbers)), log
    if every:
        assert numbers == list(range(every, every * (len(numbers) + 1), every)), log
    return found
