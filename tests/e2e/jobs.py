# SPDX-License-Identifier: Apache-2.0
"""Jobs as their users write and see them.

job = submitted(space, mpijob("sums", ["mpirun", ...], workers=4))
job.until("Succeeded")
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.programs.world import PATIENCE, Cluster, Obj, ready

V1, V2 = "kubeflow.org/v1", "kubeflow.org/v2beta1"
OPEN_MPI_4, OPEN_MPI_5, MPICH = "mpi/openmpi:4", "mpi/openmpi:5", "mpi/mpich:5"


def mpijob(
    name: str,
    launcher: Sequence[str],
    *,
    version: str = V1,
    workers: int = 2,
    image: str = OPEN_MPI_4,
    **spec: Any,
) -> Obj:
    """`launcher` is its command; what else there is goes into the spec, but for `annotations`."""
    annotations = spec.pop("annotations", {})

    def role(replicas: int, **container: Any) -> Obj:
        return {
            "replicas": replicas,
            "template": {"spec": {"containers": [{"name": "mpi", "image": image, **container}]}},
        }

    roles = {"Launcher": role(1, command=list(launcher)), "Worker": role(workers)}
    for each in roles:
        roles[each] |= spec.pop(each, {})
    return {
        "apiVersion": version,
        "kind": "MPIJob",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"mpiReplicaSpecs": roles, **spec},
    }


@dataclass(frozen=True)
class Job:
    cluster: Cluster
    name: str
    patience: float = PATIENCE
    kind: str = "mpijob"

    def object(self) -> Obj:
        return self.cluster.get(self.kind, self.name)

    @property
    def status(self) -> Obj:
        found: Obj = self.object().get("status", {})
        return found

    def conditions(self) -> dict[str, Obj]:
        """Those that hold."""
        return {each["type"]: each for each in self.status.get("conditions", ()) if each["status"] == "True"}

    def until(self, condition: str) -> Obj:
        """The condition that came to hold; the job must not end in another way meanwhile."""

        def holds() -> bool:
            found = self.conditions()
            others = {"Succeeded", "Failed"} - {condition}
            assert condition in found or not others & set(found), self.picture()
            return condition in found

        self.cluster.until(holds, f"{self.name} is {condition}", self.patience)
        return self.conditions()[condition]

    def pods(self, role: str) -> dict[str, Obj]:
        return self.cluster.pods(f"springtide.dev/job={self.name},springtide.dev/role={role}")

    def workers(self) -> list[str]:
        """Names of those that are ready."""
        return sorted(ready(self.pods("Worker").values()))

    def launcher(self) -> str:
        """The name of the youngest launcher pod."""
        pods = sorted(self.pods("Launcher").values(), key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
        return str(pods[-1]["metadata"]["name"]) if pods else ""

    def logs(self) -> str:
        return self.cluster.logs(self.launcher())

    def said(self, text: str) -> bool:
        """Whether the launcher has, so far."""
        pod = self.launcher()
        return bool(pod) and text in self.cluster.kubectl.run("logs", pod).stdout

    def patch(self, **spec: Any) -> None:
        self.cluster.kubectl("patch", self.kind, self.name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def resize(self, workers: int) -> None:
        self.patch(mpiReplicaSpecs={"Worker": {"replicas": workers}})

    def events(self) -> list[str]:
        """Their reasons."""
        found = self.cluster.get("events", f"--field-selector=involvedObject.name={self.name}")
        return [str(event["reason"]) for event in found["items"]]

    def messages(self, reason: str) -> list[str]:
        found = self.cluster.get("events", f"--field-selector=involvedObject.name={self.name},reason={reason}")
        return [str(event["message"]) for event in found["items"]]

    def picture(self) -> str:
        described = self.cluster.kubectl.run("describe", self.kind, self.name).stdout
        return f"{described}\n{self.cluster.picture()}"


def submitted(cluster: Cluster, manifest: Obj) -> Job:
    cluster.kubectl("create", "-f", "-", stdin=json.dumps(manifest))
    return Job(cluster, str(manifest["metadata"]["name"]), kind=str(manifest["kind"]).lower())
