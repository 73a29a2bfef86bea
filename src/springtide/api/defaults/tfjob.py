# SPDX-License-Identifier: Apache-2.0
"""A TFJob with all defaults applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from springtide.api.defaults import shared
from springtide.api.job import Job
from springtide.api.kinds.elastic_policy import ElasticPolicy
from springtide.api.kinds.replicas import RestartPolicy
from springtide.api.kinds.tfjob import ROLES, SuccessPolicy, TFJob


@dataclass(frozen=True, slots=True)
class TF:
    """The fields that only a TFJob has."""

    all_workers: bool
    """Without a chief the job succeeds with all workers, not with worker 0."""


def defaulted(raw: Mapping[str, Any]) -> Job[TF]:
    """For an object without `validation.tfjob.errors`; others may raise ValueError."""
    job = msgspec.convert(raw, TFJob)
    spec = job.spec
    return Job(
        api_version=job.api_version,
        kind=job.kind,
        metadata=job.metadata,
        roles=shared.roles(spec.tf_replica_specs, ROLES, RestartPolicy.NEVER),
        run=shared.run_of(spec, spec.run_policy),
        elastic=ElasticPolicy() if spec.enable_dynamic_worker else None,
        status=job.status,
        own=TF(all_workers=spec.success_policy == SuccessPolicy.ALL_WORKERS),
    )
