# SPDX-License-Identifier: Apache-2.0
"""All that the operator knows of a kind: what its jobs are read, judged and planned by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from springtide.api.field_errors import FieldError
from springtide.api.job import Job
from springtide.api.kinds.elastic_policy import MOST_WORKERS
from springtide.api.kinds.resource import Resource as Definition
from springtide.api.validation.updates import Judge
from springtide.jobs.kind import Kind
from springtide.jobs.reporting import cautions

Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Served:
    definition: Definition
    adapter: Kind
    read: Callable[[Raw], Job[Any]]
    errors: Callable[[Raw], Sequence[FieldError]]
    """What is wrong with a job."""
    admission_errors: Callable[[Raw, int], Sequence[FieldError]]
    """As `errors`, and what is refused only where somebody asks before a job is written; of so many workers at most."""
    component: str
    """Who is said to speak in events: upstream's name, which people search for."""
    metrics: str = ""
    """What the names of upstream's metrics begin with, which dashboards show; empty where there are none."""
    submitted_as: Callable[[Raw], str | None] = lambda spec: None
    """The version a job came by. None when its spec does not say, and for kinds that have one version: the job is then
    of the version that it is read by."""

    def judge(self, max_workers: int = MOST_WORKERS) -> Judge:
        """What a webhook asks of a job that is to be written."""
        return lambda raw: self.admission_errors(raw, max_workers)

    def cautions(self, new: Raw, old: Raw | None) -> Sequence[str]:
        """What becomes of a job, or of a change of it, that its user would not expect: nothing is wrong with it."""
        return cautions.of_size(self.adapter, self.read(new), self.read(old) if old is not None else None)

    @property
    def kind(self) -> str:
        return self.definition.kind
