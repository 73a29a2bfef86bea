# SPDX-License-Identifier: Apache-2.0
"""A job as the engine reads it: all defaults applied, independent of its kind and its submitted version.

`springtide.api.defaults` makes it from a raw object without errors of `springtide.api.validation`. Fields of one kind
are in `own`, which only that kind's adapter reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from springtide.api.kinds.elastic_policy import ElasticPolicy
from springtide.api.kinds.metadata import ObjectMeta
from springtide.api.kinds.replicas import RestartPolicy
from springtide.api.kinds.run_policy import CleanPodPolicy, SchedulingPolicy
from springtide.api.kinds.status import JobStatus

Own = TypeVar("Own", covariant=True)


@dataclass(frozen=True, slots=True)
class Role:
    """One role and its pod template."""

    name: str
    replicas: int
    restart_policy: RestartPolicy
    template: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Retries:
    """How often the engine retries a failed run; the rest is left to the launcher's own controller."""

    by_engine: int
    by_launcher: int | None = None
    """`backoffLimit` of a launcher that is a batch Job; None: the Job's own default."""


@dataclass(frozen=True, slots=True)
class Run:
    """`runPolicy` with defaults applied."""

    clean_pod_policy: CleanPodPolicy
    retries: Retries
    suspend: bool = False
    ttl_seconds_after_finished: int | None = None
    active_deadline_seconds: int | None = None
    scheduling: SchedulingPolicy | None = None


@dataclass(frozen=True, slots=True)
class Job(Generic[Own]):
    api_version: str
    kind: str
    metadata: ObjectMeta
    roles: Mapping[str, Role]
    """In order of creation."""
    run: Run
    elastic: ElasticPolicy | None
    status: JobStatus
    own: Own
