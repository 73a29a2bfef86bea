# SPDX-License-Identifier: Apache-2.0
"""Which job an object was made for: the keys of work queues and indexes. Pure."""

from __future__ import annotations

from typing import NamedTuple

from springtide.controllers.views import Metadata
from springtide.jobs.objects import JOB, KIND


class JobKey(NamedTuple):
    """A job's kind, namespace and name."""

    kind: str
    namespace: str
    name: str


def job_of(metadata: Metadata) -> JobKey | None:
    """The job that an object was made for, by its labels."""
    name, kind = metadata.labels.get(JOB), metadata.labels.get(KIND)
    return JobKey(kind, metadata.namespace, name) if name and kind else None
