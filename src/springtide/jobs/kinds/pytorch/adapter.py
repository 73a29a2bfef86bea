# SPDX-License-Identifier: Apache-2.0
"""The adapter of PyTorchJob."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from springtide.api import bounds
from springtide.api.defaults.pytorchjob import Torch
from springtide.api.job import Job
from springtide.api.kinds.pytorchjob import ROLES, WAITING_CONTAINER
from springtide.api.kinds.replicas import MASTER, WORKER
from springtide.jobs.actions import Event
from springtide.jobs.kind import Hosts, Kind, Of, Replica, Shape, Sizes, Success, Wanted
from springtide.jobs.kinds.pytorch import advice, variables
from springtide.jobs.kinds.pytorch.variables import NAMING
from springtide.jobs.objects import named
from springtide.jobs.observed import Exit, Settings
from springtide.jobs.parts import named_replicas, waiting_for_names


class _Services:
    def services(self, job: Job[Torch], hosts: Hosts) -> tuple[Wanted, ...]:
        """The master's name resolves once the master is ready: workers wait for that."""
        return tuple(
            named_replicas.service(NAMING, job, each, early=each.role != MASTER)
            for each in named_replicas.every(hosts, job)
        )


class _Autoscaler:
    def objects(self, job: Job[Torch], hosts: Hosts) -> tuple[Wanted, ...]:
        policy, limits = job.own.policy, job.elastic
        if policy is None or limits is None or policy.metrics is None:
            return ()
        spec = {
            "scaleTargetRef": {"apiVersion": job.api_version, "kind": job.kind, "name": job.metadata.name},
            "minReplicas": limits.min_replicas,
            "maxReplicas": limits.max_replicas,
            "metrics": list(policy.metrics),
        }
        manifest = {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": named(job, job.metadata.name),
            "spec": spec,
        }
        return (Wanted(manifest, kept=("spec",)),)


class _Sizes:
    def sizes(self, job: Job[Torch]) -> Sizes:
        return Sizes(
            bounds=bounds.decided(job.elastic),
            elastic=job.elastic is not None,
            rigid="a PyTorchJob without spec.elasticPolicy keeps its size while it runs",
        )


class PyTorchKind(Kind):
    services = _Services()
    objects = _Autoscaler()
    resizable = _Sizes()

    def shape(self, job: Job[Torch]) -> Shape:
        return Shape(
            workers=WORKER,
            config_name=named_replicas.config_name(job),
            fixed=ROLES,
            success=_success(job),
        )

    def pod_name(self, job: Job[Torch], role: str, index: int) -> str:
        return named_replicas.name(job, role, index)

    def pod(self, job: Job[Torch], role: str, index: int, settings: Settings) -> Mapping[str, Any]:
        spec = named_replicas.spec_of(NAMING, job, role)
        given = {each.get("name") for container in spec["containers"] for each in container.get("env") or ()}
        unset = {key: value for key, value in variables.if_unset(job).items() if key not in given}
        named_replicas.add_variables(spec, unset | variables.of_replica(job, role, index))
        if role == WORKER and MASTER in job.roles:
            master = named_replicas.name(job, MASTER, 0)
            waiting_for_names.add(spec, WAITING_CONTAINER, master, NAMING.container)
        replica, leads = Replica(role, index, self.pod_name(job, role, index)), _leads(job, role, index)
        return named_replicas.pod(NAMING, job, replica, leads, spec, settings)

    def too_long(self, job: Job[Torch], settings: Settings) -> str:
        """rdzvConf may have any number of settings."""
        found = next((variables.of_replica(job, role, 0) for role in job.roles), {})
        return named_replicas.too_long(found, "shorten spec.elasticPolicy")

    def selector(self, job: Job[Torch]) -> Mapping[str, str]:
        return named_replicas.selector(NAMING, job, WORKER)

    def advice(self, job: Job[Torch], ended: Exit) -> str:
        return advice.on(ended)

    def warnings(self, job: Job[Torch]) -> tuple[Event, ...]:
        return named_replicas.warnings(job)


def _success(job: Job[Torch]) -> Success:
    """Of elastic workers the first to succeed decides: with torchrun all end together."""
    if MASTER in job.roles:
        return Success(MASTER, Of.ALL)
    return Success(WORKER, Of.ALL if job.elastic is None else Of.ANY)


def _leads(job: Job[Torch], role: str, index: int) -> bool:
    return role == MASTER if MASTER in job.roles else (role, index) == (WORKER, 0)


PYTORCH_KIND: Final = PyTorchKind()
