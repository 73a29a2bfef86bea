# SPDX-License-Identifier: Apache-2.0
"""ToyJob, a whole kind on a page: a master and workers that keep their names, no launcher and no host list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from springtide.api.bounds import decided
from springtide.api.defaults import shared
from springtide.api.field_errors import FieldError, required
from springtide.api.job import Job
from springtide.api.kinds.elastic_policy import ORDERED, ElasticPolicy
from springtide.api.kinds.fields import Wire, doc
from springtide.api.kinds.metadata import ObjectMeta
from springtide.api.kinds.replicas import REPLICA_NEEDS, WORKER, ReplicaSpec, RestartPolicy
from springtide.api.kinds.resource import ELASTIC_COLUMNS, Resource, Scale, Version
from springtide.api.kinds.run_policy import TRAINING_OPERATOR, CleanPodPolicy, RunPolicy
from springtide.api.kinds.status import JobStatus
from springtide.api.validation import shared as rules
from springtide.jobs.kind import Hosts, Kind, Of, Shape, Sizes, Success, Wanted
from springtide.jobs.objects import place
from springtide.jobs.observed import Settings
from springtide.jobs.parts import pod_templates, services
from springtide.jobs.served import Served

MASTER: Final = "Master"

# What users write, and how the kind is served.


class ToyReplicaSpecs(Wire, frozen=True, kw_only=True, rename="pascal"):
    master: Annotated[ReplicaSpec | None, doc("The replica that decides how the job ends.", REPLICA_NEEDS)] = None
    worker: Annotated[ReplicaSpec | None, doc("The replicas that can be resized.", REPLICA_NEEDS)] = None


class ToyJobSpec(Wire, frozen=True, kw_only=True):
    toy_replica_specs: Annotated[ToyReplicaSpecs, doc("The roles of the job.")] = ToyReplicaSpecs()
    run_policy: RunPolicy = RunPolicy()
    elastic_policy: Annotated[ElasticPolicy | None, doc("The sizes that the job may have.", ORDERED)] = None
    success_role: Annotated[str, doc("The role whose success is the job's.")] = MASTER
    success_of: Annotated[str, doc("FIRST, ALL or ANY of its replicas.")] = Of.ALL.name


class ToyJob(Wire, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: ToyJobSpec = ToyJobSpec()
    status: JobStatus = JobStatus()


RESOURCE: Final = Resource(
    group="example.org",
    kind="ToyJob",
    plural="toyjobs",
    type=ToyJob,
    versions=(Version("v1", storage=True),),
    description="A job of a master and workers.",
    columns=ELASTIC_COLUMNS,
    scale=Scale(".spec.toyReplicaSpecs.Worker.replicas", "spec.toyReplicaSpecs[Worker].replicas"),
)

# Defaults and validation.


def defaulted(raw: Mapping[str, Any]) -> Job[Success]:
    job = msgspec.convert(raw, ToyJob)
    spec, policy = job.spec, job.spec.run_policy
    given = ((MASTER, spec.toy_replica_specs.master), (WORKER, spec.toy_replica_specs.worker))
    roles = {
        name: shared.role(name, role, replicas=1, restart=RestartPolicy.ON_FAILURE) for name, role in given if role
    }
    retries = shared.retries(policy.backoff_limit, RestartPolicy.ON_FAILURE)
    return Job(
        api_version=job.api_version,
        kind=job.kind,
        metadata=job.metadata,
        roles=roles,
        run=shared.run(policy, CleanPodPolicy(policy.clean_pod_policy or CleanPodPolicy.NONE), retries),
        elastic=spec.elastic_policy,
        status=job.status,
        own=Success(spec.success_role, Of[spec.success_of]),
    )


def errors(raw: Mapping[str, Any]) -> list[FieldError]:
    job = rules.read(raw, ToyJob)
    if isinstance(job, FieldError):
        return [job]
    found = list(rules.run_policy_errors(job.spec.run_policy, "spec.runPolicy", (TRAINING_OPERATOR,)))
    found += rules.elastic_policy_errors(job.spec.elastic_policy or ElasticPolicy(), "spec.elasticPolicy")
    master, field = job.spec.toy_replica_specs.master, f"spec.toyReplicaSpecs[{MASTER}]"
    return [*found, *(rules.role_errors(master, field, tuple(RestartPolicy)) if master else [required(field)])]


# The adapter: what the engine asks.


class _Services:
    def services(self, job: Job[Success], hosts: Hosts) -> tuple[Wanted, ...]:
        wanted = (*hosts.fixed, *hosts.leaving)
        return tuple(services.headless(job, each.name, place(job, each.role, each.index)) for each in wanted)


class _Sizes:
    def sizes(self, job: Job[Success]) -> Sizes:
        return Sizes(
            bounds=decided(job.elastic), elastic=job.elastic is not None, rigid="a ToyJob has no elasticPolicy"
        )


class ToyKind(Kind):
    services = _Services()
    resizable = _Sizes()

    def shape(self, job: Job[Success]) -> Shape:
        name = f"{job.metadata.name}-config"
        return Shape(workers=WORKER, config_name=name, fixed=tuple(job.roles), success=job.own)

    def pod_name(self, job: Job[Success], role: str, index: int) -> str:
        return f"{job.metadata.name}-{role.lower()}-{index}"

    def pod(self, job: Job[Success], role: str, index: int, settings: Settings) -> Mapping[str, Any]:
        spec = pod_templates.spec_of(job.roles[role])
        rank = index if role == MASTER else index + 1
        pod_templates.add(spec, "env", pod_templates.variables({"RANK": str(rank)}))
        spec["restartPolicy"] = pod_templates.restart_policy(job.roles[role].restart_policy)
        name, labels = self.pod_name(job, role, index), place(job, role, index)
        return pod_templates.pod(job, job.roles[role], name, labels, spec, settings)

    def selector(self, job: Job[Success]) -> Mapping[str, str]:
        return place(job, WORKER)


TOY_KIND: Final = ToyKind()
SERVED: Final = Served(
    RESOURCE,
    TOY_KIND,
    read=defaulted,
    errors=errors,
    admission_errors=lambda raw, most: errors(raw),
    component="toyjob-controller",
)
