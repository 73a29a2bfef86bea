# SPDX-License-Identifier: Apache-2.0
"""Validates a TFJob."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from springtide.api.field_errors import FieldError, forbidden, not_supported, required
from springtide.api.kinds.elastic_policy import MOST_WORKERS
from springtide.api.kinds.replicas import CHIEF, MASTER, WORKER, by_role
from springtide.api.kinds.run_policy import MULTIKUEUE, TRAINING_OPERATOR
from springtide.api.kinds.tfjob import CONTAINER, ROLES, SuccessPolicy, TFJob, TFJobSpec
from springtide.api.validation import shared

_ROLES = "spec.tfReplicaSpecs"


def errors(raw: Mapping[str, Any]) -> list[FieldError]:
    job = shared.read(raw, TFJob)
    if isinstance(job, FieldError):
        return [job]
    return [*shared.replica_name_errors(job.metadata.name, job.spec.tf_replica_specs, ROLES), *_spec_errors(job.spec)]


def admission_errors(raw: Mapping[str, Any], most: int = MOST_WORKERS) -> list[FieldError]:
    """Like `errors`, plus sizes above the operator's limit."""
    if found := errors(raw):
        return found
    return shared.size_errors(msgspec.convert(raw, TFJob).spec.tf_replica_specs, _ROLES, ROLES, most)


def _spec_errors(spec: TFJobSpec) -> Iterator[FieldError]:
    yield from shared.replica_specs_errors(spec.tf_replica_specs, _ROLES, ROLES, CONTAINER)
    given = by_role(spec.tf_replica_specs, ROLES).keys()
    if {CHIEF, MASTER} <= given:
        yield forbidden(_ROLES, "must not have more than 1 Chief or Master role")
    if given and not {CHIEF, MASTER, WORKER} & given:
        yield required(f"{_ROLES}[{WORKER}]", "must have a Chief, a Master or a Worker: no other role ends the job")
    yield from shared.run_limits_errors(spec, "spec")
    yield from shared.run_policy_errors(spec.run_policy, "spec.runPolicy", (TRAINING_OPERATOR, MULTIKUEUE))
    if spec.success_policy is not None and spec.success_policy not in tuple(SuccessPolicy):
        yield not_supported("spec.successPolicy", spec.success_policy, sorted(SuccessPolicy))
