# SPDX-License-Identifier: Apache-2.0
"""Validates a PyTorchJob."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from springtide.api import bounds
from springtide.api.defaults.pytorchjob import defaulted
from springtide.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from springtide.api.kinds.elastic_policy import MOST_WORKERS
from springtide.api.kinds.pytorchjob import (
    CONTAINER,
    PROCESSES,
    ROLES,
    WAITING_CONTAINER,
    Backend,
    PyTorchJob,
    PyTorchJobSpec,
)
from springtide.api.kinds.replicas import MASTER, WORKER, ReplicaSpec, by_role, canonical
from springtide.api.kinds.run_policy import MULTIKUEUE, TRAINING_OPERATOR
from springtide.api.kinds.templates import Template
from springtide.api.validation import shared

_ROLES = "spec.pytorchReplicaSpecs"
_ELASTIC = "spec.elasticPolicy"


def errors(raw: Mapping[str, Any]) -> list[FieldError]:
    job = shared.read(raw, PyTorchJob)
    if isinstance(job, FieldError):
        return [job]
    specs = job.spec.pytorch_replica_specs
    return [*shared.replica_name_errors(job.metadata.name, specs, ROLES), *_spec_errors(job.spec)]


def admission_errors(raw: Mapping[str, Any], most: int = MOST_WORKERS) -> list[FieldError]:
    """Like `errors`, plus sizes above the operator's limit or outside the job's bounds."""
    if found := errors(raw):
        return found
    specs = msgspec.convert(raw, PyTorchJob).spec.pytorch_replica_specs
    return shared.size_errors(specs, _ROLES, ROLES, most, bounds.decided(defaulted(raw).elastic))


def _spec_errors(spec: PyTorchJobSpec) -> Iterator[FieldError]:
    yield from shared.replica_specs_errors(spec.pytorch_replica_specs, _ROLES, ROLES, CONTAINER)
    yield from _replicas_errors(spec.pytorch_replica_specs)
    yield from _taken_name_errors(spec.pytorch_replica_specs)
    yield from shared.run_limits_errors(spec, "spec")
    yield from shared.run_policy_errors(spec.run_policy, "spec.runPolicy", (TRAINING_OPERATOR, MULTIKUEUE))
    if spec.nproc_per_node is not None and not re.fullmatch(PROCESSES, spec.nproc_per_node):
        yield invalid("spec.nprocPerNode", spec.nproc_per_node, "must be auto, cpu, gpu, xpu or a positive number")
    yield from _elastic_errors(spec)


def _replicas_errors(specs: Mapping[str, ReplicaSpec]) -> Iterator[FieldError]:
    for given, spec in specs.items():
        name, field = canonical(given, ROLES), f"{_ROLES}[{given}].replicas"
        if name == MASTER and spec.replicas not in (None, 1):
            yield forbidden(field, "must be 1")
        if name == WORKER and spec.replicas is not None and spec.replicas < 1:
            yield forbidden(field, "must be at least 1")


def _taken_name_errors(specs: Mapping[str, ReplicaSpec]) -> Iterator[FieldError]:
    """Names of containers are unique in a pod, and workers of a master get one more container."""
    if MASTER not in by_role(specs, ROLES):
        return
    for given, spec in specs.items():
        template = shared.read(spec.template, Template)
        if canonical(given, ROLES) != WORKER or isinstance(template, FieldError) or template.spec is None:
            continue
        names = {
            "initContainers": [each.name for each in template.spec.init_containers or ()],
            "containers": [each.name for each in template.spec.containers or ()],
        }
        for field, found in names.items():
            if WAITING_CONTAINER in found:
                place = f"{_ROLES}[{given}].template.spec.{field}[{found.index(WAITING_CONTAINER)}].name"
                yield invalid(place, WAITING_CONTAINER, "is the name of the container that waits for the master")


def _elastic_errors(spec: PyTorchJobSpec) -> Iterator[FieldError]:
    policy = spec.elastic_policy
    if policy is None:
        return
    if WORKER not in by_role(spec.pytorch_replica_specs, ROLES):
        yield required(f"{_ROLES}[{WORKER}]", "must be configured if elastic policy is used")
    yield from shared.elastic_policy_errors(policy, _ELASTIC)
    if policy.n_proc_per_node is not None and spec.nproc_per_node is not None:
        yield forbidden(f"{_ELASTIC}.nProcPerNode", "must not be used with spec.nprocPerNode")
    yield from shared.positive(policy.n_proc_per_node, f"{_ELASTIC}.nProcPerNode")
    if policy.rdzv_backend is not None and policy.rdzv_backend not in tuple(Backend):
        yield not_supported(f"{_ELASTIC}.rdzvBackend", policy.rdzv_backend, sorted(Backend))
    if policy.rdzv_port is not None and not 0 < policy.rdzv_port < 65536:
        yield invalid(f"{_ELASTIC}.rdzvPort", policy.rdzv_port, "must be between 1 and 65535")
    yield from shared.not_negative(policy.max_restarts, f"{_ELASTIC}.maxRestarts")
    for index, each in enumerate(policy.rdzv_conf or ()):
        if not each.key or "=" in each.key or "," in each.key + each.value:
            place, given = f"{_ELASTIC}.rdzvConf[{index}]", f"{each.key}={each.value}"
            yield invalid(place, given, "must have a key without equal sign, and no comma: torchrun splits at them")
