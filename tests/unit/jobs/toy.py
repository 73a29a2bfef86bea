# SPDX-License-Identifier: Apache-2.0
"""A kind unlike any other here: a master and workers that keep their names and ranks, no launcher and no host list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from tests.unit.jobs.simulated import Cluster

from springtide.api.bounds import Bounds
from springtide.api.job import Job, Retries, Role, Run
from springtide.api.kinds.metadata import ObjectMeta
from springtide.api.kinds.replicas import RestartPolicy
from springtide.api.kinds.run_policy import CleanPodPolicy
from springtide.api.kinds.status import JobStatus
from springtide.jobs.kind import Hosts, Kind, Of, Replica, Shape, Sizes, Success, Wanted
from springtide.jobs.objects import named, place
from springtide.jobs.observed import Settings


class _Services:
    def services(self, job: Job[Success], hosts: Hosts) -> tuple[Wanted, ...]:
        return tuple(Wanted(_service(job, each), kept=("spec",)) for each in hosts.fixed)


class _Sizes:
    def sizes(self, job: Job[Success]) -> Sizes:
        return Sizes(bounds=Bounds(1, 4, "spec.elasticPolicy"))


class ToyKind(Kind):
    services = _Services()
    resizable = _Sizes()

    def shape(self, job: Job[Success]) -> Shape:
        return Shape(
            workers="Worker",
            config_name=f"{job.metadata.name}-config",
            fixed=tuple(job.roles),
            success=job.own,
        )

    def pod_name(self, job: Job[Success], role: str, index: int) -> str:
        return f"{job.metadata.name}-{role.lower()}-{index}"

    def pod(self, job: Job[Success], role: str, index: int, settings: Settings) -> Mapping[str, Any]:
        metadata = named(job, self.pod_name(job, role, index), labels=place(job, role, index))
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **job.roles[role].template}

    def selector(self, job: Job[Success]) -> Mapping[str, str]:
        return place(job, "Worker")


def _service(job: Job[Success], each: Replica) -> dict[str, Any]:
    spec = {"clusterIP": "None", "selector": place(job, each.role, each.index)}
    return {"apiVersion": "v1", "kind": "Service", "metadata": named(job, each.name), "spec": spec}


TOY_KIND = ToyKind()


def a_toy(
    workers: int = 2,
    restart: str = "Never",
    success: tuple[str, Of] = ("Master", Of.ALL),
    retries: int = 2,
    clean: str = "None",
) -> Cluster:
    """Submitted, nothing done yet."""
    raw = {
        "apiVersion": "example.org/v1",
        "kind": "ToyJob",
        "metadata": {"name": "toy", "namespace": "ns", "uid": "u-1"},
        "spec": {"mpiReplicaSpecs": {"Worker": {"replicas": workers}}, "runPolicy": {}},
    }

    def read(raw: Mapping[str, Any]) -> Job[Success]:
        template: Mapping[str, Any] = {"spec": {"containers": [{"name": "main", "image": "toy"}]}}
        counts = {"Master": 1, "Worker": raw["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]}
        policy = RestartPolicy(restart)
        return Job(
            api_version=raw["apiVersion"],
            kind=raw["kind"],
            metadata=msgspec.convert(raw["metadata"], ObjectMeta),
            roles={name: Role(name, count, policy, template) for name, count in counts.items()},
            run=Run(CleanPodPolicy(clean), Retries(retries), suspend=raw["spec"]["runPolicy"].get("suspend", False)),
            elastic=None,
            status=msgspec.convert(raw["status"], JobStatus),
            own=Success(*success),
        )

    return Cluster(raw, kind=TOY_KIND, read=read)
