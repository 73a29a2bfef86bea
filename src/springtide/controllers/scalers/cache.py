# SPDX-License-Identifier: Apache-2.0
"""The scalers of all jobs: their caches, by the job that they are for, and the runs of their scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from springtide.api.kinds.resource import Resource as Definition
from springtide.controllers.job_keys import JobKey
from springtide.controllers.scalers import reading
from springtide.controllers.views import ScalerView
from springtide.jobs.scaling.scaler import Scaler, ScriptRun
from springtide.kube.cache import Replaced
from springtide.kube.informer import Informer, Informers
from springtide.kube.request import Scope
from springtide.kube.resources import Key, Resource

_BY_JOB: Final = "job"


class ScalerKey(NamedTuple):
    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)


class Scalers:
    def __init__(self, informers: Informers, namespace: str, kinds: Mapping[str, Iterable[Definition]]) -> None:
        """`kinds` are the kinds of scalers by the kind of their jobs."""
        self.runs: dict[str, ScriptRun] = {}
        """The last run of a script, by the uid of its scaler."""
        self.informers: dict[str, Informer[ScalerView]] = {}
        self._jobs: dict[str, str] = {}
        self._kinds: dict[str, tuple[str, ...]] = {}
        self._known: dict[ScalerKey, Scaler] = {}
        for job, definitions in kinds.items():
            resources = [resource_of(each) for each in definitions]
            self._kinds[job] = tuple(each.kind for each in resources)
            for resource in resources:
                self._jobs[resource.kind] = job
                informer = self.informers[resource.kind] = informers.of(resource, Scope(namespace), into=ScalerView)
                informer.add_index(_BY_JOB, self._index(job))
                informer.on_replace(self._forgetting(resource.kind))

    def _index(self, job: str) -> Callable[[ScalerView], list[JobKey]]:
        def jobs(view: ScalerView) -> list[JobKey]:
            name = job_name(view, job)
            return [JobKey(job, view.metadata.namespace, name)] if name else []

        return jobs

    def _forgetting(self, kind: str) -> Callable[[Replaced[ScalerView]], None]:
        def forget(change: Replaced[ScalerView]) -> None:
            self._known.pop(ScalerKey(kind, *change.key), None)

        return forget

    def job_of(self, kind: str, view: ScalerView) -> JobKey:
        """The job that a scaler of this kind is for; its name is empty if the scaler names none."""
        job = self._jobs[kind]
        return JobKey(job, view.metadata.namespace, job_name(view, job))

    def of(self, job: JobKey, uid: str) -> tuple[Scaler, ...]:
        """The scalers that select the job and have no other controller."""
        found = []
        for kind in self._kinds.get(job.kind, ()):
            for view in self.informers[kind].where(_BY_JOB, job):
                controller = view.metadata.controlling
                if controller is None or controller.get("uid") == uid:
                    found.append(replace(self._read(kind, view), bound=controller is not None))
        return tuple(found)

    def selecting(self, job: JobKey) -> list[ScalerKey]:
        """All that select a job of this name, also those that belong to an earlier one."""
        return [
            ScalerKey(kind, *key)
            for kind in self._kinds.get(job.kind, ())
            for key in self.informers[kind].keys_where(_BY_JOB, job)
        ]

    def find(self, key: ScalerKey) -> tuple[Scaler, ScalerView] | None:
        view = self.informers[key.kind].get(key.key)
        return (self._read(key.kind, view), view) if view is not None else None

    def _read(self, kind: str, view: ScalerView) -> Scaler:
        """Read once per version: a job may have many that have ended, and is reconciled often."""
        key = ScalerKey(kind, view.metadata.namespace, view.metadata.name)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = reading.scaler(self.informers[kind].resource, view)
        return known


def resource_of(definition: Definition) -> Resource:
    """In its storage version."""
    version = next(each.name for each in definition.versions if each.storage)
    return Resource(definition.group, version, definition.plural, definition.kind)


def job_name(view: ScalerView, kind: str) -> str:
    """A scaler belongs to its controller, even if its selector was changed afterwards."""
    controller = view.metadata.controlling
    if controller is not None and controller.get("kind") == kind:
        return str(controller.get("name", ""))
    return reading.selected(view)
