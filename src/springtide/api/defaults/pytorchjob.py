# SPDX-License-Identifier: Apache-2.0
"""A PyTorchJob with all defaults applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from springtide.api.defaults import shared
from springtide.api.job import Job, Role
from springtide.api.kinds.elastic_policy import ElasticPolicy
from springtide.api.kinds.pytorchjob import ROLES, PyTorchJob, TorchElasticPolicy
from springtide.api.kinds.replicas import WORKER, RestartPolicy


@dataclass(frozen=True, slots=True)
class Torch:
    """The fields that only a PyTorchJob has."""

    processes: str
    """Processes per replica, as torchrun takes it; empty if the deprecated field gives their number."""
    policy: TorchElasticPolicy | None


def defaulted(raw: Mapping[str, Any]) -> Job[Torch]:
    """For an object without `validation.pytorchjob.errors`; others may raise ValueError."""
    job = msgspec.convert(raw, PyTorchJob)
    spec, policy = job.spec, job.spec.elastic_policy
    roles = shared.roles(spec.pytorch_replica_specs, ROLES, RestartPolicy.ON_FAILURE)
    deprecated = policy is not None and policy.n_proc_per_node is not None
    return Job(
        api_version=job.api_version,
        kind=job.kind,
        metadata=job.metadata,
        roles=roles,
        run=shared.run_of(spec, spec.run_policy),
        elastic=None if policy is None else _bounds(policy, roles.get(WORKER)),
        status=job.status,
        own=Torch(spec.nproc_per_node or ("" if deprecated else "auto"), policy),
    )


def _bounds(policy: TorchElasticPolicy, worker: Role | None) -> ElasticPolicy:
    """A missing bound is the other one; without both the number of workers in the spec is the only one."""
    size = worker.replicas if worker else 1
    least, most = policy.min_replicas, policy.max_replicas
    return ElasticPolicy(
        min_replicas=next(value for value in (least, most, size) if value is not None),
        max_replicas=next(value for value in (most, least, size) if value is not None),
    )
