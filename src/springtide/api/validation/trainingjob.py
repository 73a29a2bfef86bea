# SPDX-License-Identifier: Apache-2.0
"""Validates a TrainingJob. et-operator validates nothing, so the wording is that of the other kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from springtide.api import whole_numbers
from springtide.api.defaults.trainingjob import bounds_of, defaulted
from springtide.api.field_errors import FieldError, collected, invalid, not_supported, required
from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.elastic_policy import MOST_WORKERS
from springtide.api.kinds.et_parts import parts_of
from springtide.api.kinds.metadata import ObjectMeta
from springtide.api.kinds.replicas import LAUNCHER, WORKER, RestartPolicy
from springtide.api.kinds.trainingjob import (
    LONGEST_WAIT,
    MAX_WAIT_TIME_ANNOTATION,
    QUEUED_ANNOTATION,
    RESOURCE,
    SSH_SECRET_ANNOTATION,
    START_AT_MINIMUM,
    START_SIZE_ANNOTATION,
    SUSPENDED_ANNOTATION,
    ETReplicaSpecs,
    JobRestartPolicy,
    LauncherSpec,
    TrainingJob,
    TrainingJobSpec,
    WorkerSpec,
)
from springtide.api.names import container_complaints
from springtide.api.validation import shared

_ROLES: Final = "spec.etReplicaSpecs"
_LAUNCHER: Final = f"{_ROLES}.launcher"
_WORKER: Final = f"{_ROLES}.worker"
_KEYS: Final = ("launcher", "worker")
_BOOLEANS: Final = ("true", "false")


def errors(raw: Mapping[str, Any]) -> list[FieldError]:
    return collected(_errors, raw)


def admission_errors(raw: Mapping[str, Any], most: int = MOST_WORKERS) -> list[FieldError]:
    """Like `errors`, plus sizes that are rejected only at admission: one outside its bounds, which a reconcile would
    clamp, and more workers than the operator's limit."""
    if found := errors(raw):
        return found
    assert RESOURCE.scale is not None  # for mypy
    job = defaulted(raw)
    return [*shared.role_size_errors(job.roles[WORKER].replicas, RESOURCE.scale.field, most, bounds_of(job))]


def _errors(raw: Mapping[str, Any]) -> list[FieldError]:
    job = shared.read(raw, TrainingJob)
    if isinstance(job, FieldError):
        return [job]
    return [
        *_name_errors(job),
        *_annotation_errors(job.metadata.annotations),
        *_unknown_roles(raw),
        *_spec_errors(job.spec, job.metadata),
    ]


def _name_errors(job: TrainingJob) -> list[FieldError]:
    """Checks the names of the launcher and of the job's first workers, which are also the names of Services. Later
    workers have higher indices, but a running job is not rejected for them."""
    specs, name = job.spec.et_replica_specs, job.metadata.name
    replicas = specs.worker.replicas if specs and specs.worker else None
    names = (f"{name}-launcher", f"{name}-worker-{max(replicas or 1, 1) - 1}")
    return shared.longest_name_errors(name, max(names, key=len))


def _annotation_errors(annotations: Mapping[str, str]) -> Iterator[FieldError]:
    for name, choices in (
        (SUSPENDED_ANNOTATION, _BOOLEANS),
        (QUEUED_ANNOTATION, _BOOLEANS),
        (START_SIZE_ANNOTATION, (START_AT_MINIMUM,)),
    ):
        if (given := annotations.get(name)) is not None and given not in choices:
            yield not_supported(_annotation(name), given, choices)
    wait = annotations.get(MAX_WAIT_TIME_ANNOTATION)
    if wait is not None and not 0 <= _seconds(wait) <= LONGEST_WAIT:
        said = f"must be a whole number of seconds from 0 to {LONGEST_WAIT}, without a unit; 0 is no limit"
        yield invalid(_annotation(MAX_WAIT_TIME_ANNOTATION), wait, said)
    secret = annotations.get(SSH_SECRET_ANNOTATION)
    if secret is not None and (complaints := container_complaints(secret)):
        said = f"must be the name of a Secret and of a volume: {', '.join(complaints)}"
        yield invalid(_annotation(SSH_SECRET_ANNOTATION), secret, said)


def _annotation(name: str) -> str:
    return f"metadata.annotations[{name}]"


def _seconds(given: str) -> int:
    """-1 for a text that is no number."""
    seconds = whole_numbers.parse(given)
    return -1 if seconds is None else seconds


def _unknown_roles(raw: Mapping[str, Any]) -> Iterator[FieldError]:
    given = (raw.get("spec") or {}).get("etReplicaSpecs") or {}
    for name in given:
        if name not in _KEYS:
            yield not_supported(_ROLES, name, _KEYS)


def _spec_errors(spec: TrainingJobSpec, metadata: ObjectMeta) -> Iterator[FieldError]:
    if spec.et_replica_specs is None:
        yield required(_ROLES, "must have replica specs")
    else:
        yield from _roles_errors(spec.et_replica_specs)
        yield from _taken_names(spec, spec.et_replica_specs, metadata)
    yield from _choice(spec.launcher_attach_mode, "spec.launcherAttachMode", AttachMode)
    yield from shared.positive(spec.slots_per_worker, "spec.slotsPerWorker")
    yield from _choice(spec.restart_policy, "spec.restartPolicy", JobRestartPolicy)
    yield from shared.not_negative(spec.backoff_limit, "spec.backoffLimit")
    yield from shared.clean_pod_policy_errors(spec.clean_pod_policy, "spec")


def _choice(value: str | None, field: str, choices: type[StrEnum]) -> Iterator[FieldError]:
    if value and value not in tuple(choices):
        yield not_supported(field, value, sorted(choices))


def _roles_errors(specs: ETReplicaSpecs) -> Iterator[FieldError]:
    if specs.launcher is None:
        yield required(_LAUNCHER, "must have launcher replica spec")
    else:
        yield from _launcher_errors(specs.launcher)
    if specs.worker is None:
        yield required(_WORKER, "must have worker replica spec")
    else:
        yield from _worker_errors(specs.worker)


def _launcher_errors(launcher: LauncherSpec) -> Iterator[FieldError]:
    yield from shared.role_errors(launcher, _LAUNCHER, tuple(RestartPolicy))
    yield from shared.exactly_one(launcher.replicas, _LAUNCHER)


def _worker_errors(worker: WorkerSpec) -> Iterator[FieldError]:
    yield from shared.role_errors(worker, _WORKER, tuple(RestartPolicy))
    yield from shared.positive(worker.replicas, f"{_WORKER}.replicas")
    yield from shared.bounds_errors(worker.min_replicas, worker.max_replicas, _WORKER)


def _taken_names(spec: TrainingJobSpec, specs: ETReplicaSpecs, metadata: ObjectMeta) -> Iterator[FieldError]:
    given = spec.launcher_attach_mode or AttachMode.SSH
    if given not in tuple(AttachMode):
        return  # an error of its own
    secret = metadata.annotations.get(SSH_SECRET_ANNOTATION) or metadata.name
    for role, place, fields in ((LAUNCHER, _LAUNCHER, specs.launcher), (WORKER, _WORKER, specs.worker)):
        if fields is not None:
            yield from shared.taken_name_errors(fields, place, parts_of(AttachMode(given), role, secret))
