# SPDX-License-Identifier: Apache-2.0
"""Describes a kind to the operator: how its jobs are read, validated and planned."""

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
from springtide.jobs.policies.managed_by import managed_elsewhere
from springtide.jobs.replicas import size_refusals
from springtide.jobs.reporting import cautions

Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Served:
    definition: Definition
    adapter: Kind
    read: Callable[[Raw], Job[Any]]
    errors: Callable[[Raw], Sequence[FieldError]]
    """The validation errors of a job."""
    admission_errors: Callable[[Raw, int], Sequence[FieldError]]
    """Like `errors`, plus what is rejected only at admission; the number is the operator's limit of workers."""
    component: str
    """The source of its events: upstream's name, which users search for."""
    metrics: str = ""
    """The prefix of the metrics of the upstream operator for this kind alone, which dashboards show; empty if there are
    none."""
    framework: str = ""
    """The label `framework` of Kubeflow's training-operator, whose metrics dashboards show; empty if it does not know
    the kind."""
    submitted_as: Callable[[Raw], str | None] = lambda spec: None
    """The version that a job was submitted as. None if its spec does not tell, and for kinds with one version: then it
    is the version that the job is read by."""

    def judge(self, max_workers: int = MOST_WORKERS) -> Judge:
        """The validation that a webhook runs on a job that is to be written."""
        return lambda raw: self.admission_errors(raw, max_workers)

    def cautions(self, new: Raw, old: Raw | None) -> Sequence[str]:
        """Warnings about unexpected effects of a valid job, or of an update."""
        job = self.read(new)
        if old is not None:
            return cautions.of_change(self.adapter, job, self.read(old))
        spelled = cautions.of_spelling(self.adapter, self.definition.scale, job, new)
        return [*cautions.of_change(self.adapter, job, None), *spelled]

    def size_errors(self, new: Raw, old: Raw) -> Sequence[FieldError]:
        """Why a valid job may not get the size that an update asks for."""
        if self.definition.scale is None or managed_elsewhere(old):
            return ()
        change = size_refusals.Change(self.read(new), self.read(old), (new, old))
        return size_refusals.errors(self.adapter, self.definition.scale, change)

    @property
    def kind(self) -> str:
        return self.definition.kind
