# SPDX-License-Identifier: Apache-2.0
"""The adapter of TFJob."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from springtide.api.defaults.tfjob import TF
from springtide.api.job import Job
from springtide.api.kinds.replicas import CHIEF, MASTER, WORKER
from springtide.api.kinds.tfjob import ROLES
from springtide.jobs.actions import Event
from springtide.jobs.kind import Hosts, Kind, Of, Replica, Shape, Sizes, Success, Wanted
from springtide.jobs.kinds.tensorflow.tf_config import NAMING, tf_config
from springtide.jobs.observed import Settings
from springtide.jobs.parts import named_replicas


class _Services:
    def services(self, job: Job[TF], hosts: Hosts) -> tuple[Wanted, ...]:
        return tuple(named_replicas.service(NAMING, job, each) for each in named_replicas.every(hosts, job))


class _Sizes:
    def sizes(self, job: Job[TF]) -> Sizes:
        return Sizes(
            elastic=job.elastic is not None,
            rigid="a TFJob without spec.enableDynamicWorker keeps its size while it runs",
        )


class TFKind(Kind):
    services = _Services()
    resizable = _Sizes()

    def shape(self, job: Job[TF]) -> Shape:
        return Shape(
            workers=WORKER,
            config_name=named_replicas.config_name(job),
            fixed=ROLES,
            success=_success(job),
            expendable=(WORKER,) if job.elastic is not None else (),
        )

    def pod_name(self, job: Job[TF], role: str, index: int) -> str:
        return named_replicas.name(job, role, index)

    def pod(self, job: Job[TF], role: str, index: int, settings: Settings) -> Mapping[str, Any]:
        spec = named_replicas.spec_of(NAMING, job, role)
        if config := tf_config(job, role, index, settings):
            named_replicas.add_variables(spec, {"TF_CONFIG": config}, NAMING.container)
        replica, leads = Replica(role, index, self.pod_name(job, role, index)), _leads(job, role, index)
        return named_replicas.pod(NAMING, job, replica, leads, spec, settings)

    def too_long(self, job: Job[TF], settings: Settings) -> str:
        """TF_CONFIG has the addresses of all replicas."""
        values = {"TF_CONFIG": max((tf_config(job, role, 0, settings) for role in job.roles), key=len, default="")}
        remedy = "ask for fewer replicas"
        if job.elastic is None:
            remedy += ", or set spec.enableDynamicWorker: then replicas get only their own address and those of the PS"
        return named_replicas.too_long(values, remedy)

    def selector(self, job: Job[TF]) -> Mapping[str, str]:
        return named_replicas.selector(NAMING, job, WORKER)

    def warnings(self, job: Job[TF]) -> tuple[Event, ...]:
        return named_replicas.warnings(job)


def _chief(job: Job[TF]) -> str:
    return next((role for role in (CHIEF, MASTER) if role in job.roles), "")


def _success(job: Job[TF]) -> Success:
    """PS and evaluators never decide."""
    if chief := _chief(job):
        return Success(chief, Of.ALL)
    return Success(WORKER, Of.ALL if job.own.all_workers else Of.FIRST)


def _leads(job: Job[TF], role: str, index: int) -> bool:
    chief = _chief(job)
    return role == chief if chief else (role, index) == (WORKER, 0)


TF_KIND: Final = TFKind()
