# SPDX-License-Identifier: Apache-2.0
"""TrainingJobs and their scalers as users write and see them.

job = submitted(space, steps(folder, workers=2))
job.until_size(2)
job.scale_out(1).until("ScaleSucceeded")
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests import arena
from tests.e2e.jobs import Job
from tests.programs.world import PATIENCE, Cluster, Obj

PROGRAM: Final = (Path(__file__).parent / "files" / "steps.py").read_text()
SWIFT: Final = {"springtide.dev/settle-seconds": "0"}
SHARED: Final = "/shared"
"""Where all pods of a job see a folder of the test."""
TIDERUN: Final = (
    "tiderun -np $((${workers}*${gpus})) --min-np $((${minWorkers}*${gpus})) --max-np $((${maxWorkers}*${gpus}))"
    ' --host-discovery-script /etc/edl/discover_hosts.sh python -c "$PROGRAM" /shared/end'
)
_STEP: Final = re.compile(r"^\[[^]]+\]<stdout>:step (\d+) rank (\d+) of (\d+) on (\S+)$", re.MULTILINE)
_ENDED: Final = {"ScaleSucceeded", "ScaleFailed"}
_numbers: Final = count(1)


class Step(NamedTuple):
    number: int
    rank: int
    size: int
    host: str


@dataclass(frozen=True)
class Scaler:
    cluster: Cluster
    kind: str
    name: str
    patience: float = PATIENCE

    def object(self) -> Obj:
        return self.cluster.get(self.kind, self.name)

    @property
    def status(self) -> Obj:
        found: Obj = self.object().get("status", {})
        return found

    def conditions(self) -> dict[str, str]:
        """Those that hold, in their order, and their messages."""
        return {each["type"]: each["message"] for each in self.status.get("conditions", ()) if each["status"] == "True"}

    def until(self, condition: str) -> str:
        """The message of the condition. It must not end in another way meanwhile."""

        def holds() -> bool:
            found = self.conditions()
            assert condition in found or not (_ENDED - {condition}) & set(found), self.picture()
            return condition in found

        self.cluster.until(holds, f"{self.name} is {condition}", self.patience)
        return self.conditions()[condition]

    def delete(self) -> None:
        self.cluster.kubectl("delete", self.kind, self.name)

    def picture(self) -> str:
        return f"{json.dumps(self.status, indent=1)}\n{self.cluster.picture()}"


@dataclass(frozen=True)
class Scaled(Job):
    """A TrainingJob, whatever it runs."""

    kind: str = "trainingjob"

    def scale_out(self, count: int, timeout: int = 600, **spec: Any) -> Scaler:
        return self._scale("ScaleOut", {"toAdd": {"count": count}, "timeout": timeout, **spec})

    def scale_in(self, *names: str, count: int | None = None, timeout: int = 600, **spec: Any) -> Scaler:
        what = {"podNames": list(names)} if names else {"count": count}
        return self._scale("ScaleIn", {"toDelete": what, "timeout": timeout, **spec})

    def _scale(self, kind: str, spec: Obj) -> Scaler:
        metadata = {"name": f"{self.name}-{next(_numbers)}"}
        manifest = {"apiVersion": "kai.alibabacloud.com/v1alpha1", "kind": kind, "metadata": metadata}
        return created(self.cluster, {**manifest, "spec": {"selector": {"name": self.name}, **spec}})


@dataclass(frozen=True)
class TrainingJob(Scaled):
    """One that runs the program `steps`."""

    def steps(self) -> list[Step]:
        """In the order in which the launcher printed them."""
        found = _STEP.findall(self.log())
        return [Step(int(number), int(rank), int(size), host) for number, rank, size, host in found]

    def log(self) -> str:
        pod = self.launcher()
        return self.cluster.kubectl.run("logs", pod).stdout if pod else ""

    def until_size(self, size: int) -> None:
        """So many ranks train, and there are no other workers."""

        def trains() -> bool:
            assert not {"Failed", "Succeeded"} & set(self.conditions()), self.picture()
            steps = self.steps()
            return bool(steps) and steps[-1].size == size and len(self.pods("Worker")) == size

        self.cluster.until(trains, f"{size} ranks train", self.patience)

    def goes_on(self) -> None:
        """Training makes steps."""
        before = self.steps()[-1].number
        self.cluster.until(lambda: self.steps()[-1].number > before, "another step", self.patience)


def created(cluster: Cluster, scaler: Obj) -> Scaler:
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(scaler))
    return Scaler(cluster, str(scaler["kind"]).lower(), str(scaler["metadata"]["name"]))


def submitted(cluster: Cluster, *objects: Obj) -> TrainingJob:
    """As Arena applies them: the Secret first, where there is one. Only then does the job own it."""
    for each in objects:
        cluster.kubectl("apply", "-f", "-", stdin=json.dumps(each))
    return TrainingJob(cluster, str(objects[-1]["metadata"]["name"]))


def document(workers: int) -> tuple[Obj, Obj]:
    """The document's job, unchanged."""
    return arena.etjob(workers)


def steps(
    folder: Path, workers: int = 2, *, user: int | None = None, annotations: Mapping[str, str] = SWIFT, **spec: Any
) -> tuple[Obj, Obj]:
    """The document's job with another program, under `tiderun`, that ends when its folder has a file `end`. With a
    user, that of its launcher."""
    secret, job = arena.etjob(workers)
    job["metadata"]["annotations"] |= annotations
    job["spec"] |= spec
    for role, each in job["spec"]["etReplicaSpecs"].items():
        pod = each["template"]["spec"]
        (container,) = pod["containers"]
        container |= {"image": "any", "workingDir": "/"}
        container["env"].append({"name": "PROGRAM", "value": PROGRAM})
        container["volumeMounts"].append({"name": "shared", "mountPath": SHARED})
        pod["volumes"].append({"name": "shared", "hostPath": {"path": str(folder)}})
        if role == "launcher":
            container["command"] = ["sh", "-c", TIDERUN]
            pod |= {} if user is None else {"securityContext": {"runAsUser": user, "runAsGroup": user}}
    return secret, job


def finish(job: TrainingJob, folder: Path) -> list[Step]:
    """All steps of the job, which succeeds."""
    (folder / "end").touch()
    job.until("Succeeded")
    return job.steps()


def check(told: Sequence[Step]) -> None:
    """Every step from the first one on was made by all ranks of its size, and by each of them once."""
    by_number = {number: list(group) for number, group in groupby(sorted(told), key=lambda step: step.number)}
    assert sorted(by_number) == list(range(1, len(by_number) + 1))
    for number, group in by_number.items():
        sizes = {step.size for step in group}
        assert len(sizes) == 1, (number, group)
        assert [step.rank for step in group] == list(range(sizes.pop())), (number, group)
    for host in {step.host for step in told}:
        numbers = [step.number for step in told if step.host == host]
        assert numbers == list(range(numbers[0], numbers[-1] + 1)), host
