# SPDX-License-Identifier: Apache-2.0
"""Reads the input of a plan off the caches. Reading never awaits, so the view is consistent."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from springtide.api.job import Job
from springtide.controllers.caches import BY_JOB, Caches
from springtide.controllers.job_keys import JobKey
from springtide.controllers.leaving import NodeFacts, evicted_by_taints
from springtide.controllers.pod_waiting import ended_as, waiting
from springtide.controllers.views import (
    BatchJobView,
    Condition,
    ContainerStatus,
    HeldView,
    Metadata,
    PodView,
    Terminated,
)
from springtide.jobs.endings.causes import NODE_LOST
from springtide.jobs.kind import Kind, Shape
from springtide.jobs.objects import CONTAINER, ROLE, index_of
from springtide.jobs.observed import FAILED, Exit, Held, Key, LauncherJob, Observed, Pod, Settings, WarningEvent
from springtide.jobs.reporting import quoting
from springtide.jobs.scaling.scaler import Scaler, ScriptRun
from springtide.kube.resources import Key as ObjectKey
from springtide.kube.resources import Resource

_PARTS: Final = ("spec", "data", "rules", "subjects")


@dataclass(frozen=True, slots=True)
class Found:
    """The cached objects of a job at one moment, not read yet: reading is slow, and may be done in a thread."""

    job: Job[Any]
    kind: Kind
    pods: Sequence[PodView]
    batch_job: BatchJobView | None
    """The object with the launcher's name, whether or not it belongs to the job."""
    held: Sequence[tuple[Resource, HeldView]]
    nodes: NodeFacts
    priorities: Mapping[str, int]
    last_reports: Mapping[str, str]
    troubles: Mapping[str, WarningEvent]
    scalers: tuple[Scaler, ...]
    scripts: Mapping[str, ScriptRun]
    settings: Settings


def found(job: Job[Any], kind: Kind, caches: Caches, settings: Settings) -> Found:
    key = JobKey(job.kind, job.metadata.namespace, job.metadata.name)
    scalers = caches.scalers.of(key, job.metadata.uid)
    return Found(
        job=job,
        kind=kind,
        pods=caches.pods.where(BY_JOB, key),
        batch_job=caches.batch_jobs.get(ObjectKey(job.metadata.namespace, kind.launcher_name(job.metadata.name))),
        held=[(resource, view) for resource, each in caches.held.items() for view in each.where(BY_JOB, key)],
        nodes=caches.node_facts(),
        priorities=caches.priorities(),
        last_reports=caches.last_reports(key),
        troubles=caches.troubles.get(key, {}),
        scalers=scalers,
        scripts={each.uid: run for each in scalers if (run := caches.scalers.runs.get(each.uid)) is not None},
        settings=settings,
    )


def observed(job: Job[Any], kind: Kind, caches: Caches, settings: Settings) -> Observed:
    return read(found(job, kind, caches, settings))


def read(found: Found) -> Observed:
    job, shape = found.job, found.kind.shape(found.job)
    batch, evicting = _batch(found, shape), evicted_by_taints(found.nodes, _tolerations(job, shape))
    pods = (each for each in found.pods if _is_part(each, job, found.kind, shape, batch))
    return Observed(
        job=job,
        pods=tuple(pod(each, found.nodes.silent) for each in pods),
        objects={
            Key(resource.api_version, resource.kind, view.metadata.name): held(view)
            for resource, view in found.held
            if _owned(view.metadata, job)
        },
        launcher_job=launcher_job(batch) if batch else None,
        leaving_nodes=found.nodes.leaving | evicting.keys(),
        cordoned_nodes=found.nodes.cordoned,
        reclaims={**{node: at for node, at in evicting.items() if at is not None}, **found.nodes.reclaims},
        priorities=found.priorities,
        last_reports=found.last_reports,
        troubles=found.troubles,
        scalers=found.scalers,
        scripts=found.scripts,
        settings=found.settings,
    )


def _tolerations(job: Job[Any], shape: Shape) -> Sequence[Any]:
    """The tolerations of the workers, which are most of a job's pods."""
    role = job.roles.get(shape.workers)
    spec = role.template.get("spec") if role is not None else None
    found = spec.get("tolerations") if isinstance(spec, Mapping) else None
    return found if isinstance(found, list) else ()


def _batch(found: Found, shape: Shape) -> BatchJobView | None:
    batch, wanted = found.batch_job, shape.form.in_batch_job
    return batch if wanted and batch is not None and _owned(batch.metadata, found.job) else None


def _is_part(view: PodView, job: Job[Any], kind: Kind, shape: Shape, batch: BatchJobView | None) -> bool:
    """Whether a pod is the replica that its labels claim. Any client may write labels, and clients that may create pods
    may set any owner: a pod must also have the name of its role and index, so that it cannot replace another."""
    metadata = view.metadata
    role, owner = metadata.labels.get(ROLE, ""), _owner(metadata)
    if role == shape.launcher and shape.form.in_batch_job:
        return batch is not None and owner == batch.metadata.uid
    if owner != job.metadata.uid:
        return False
    if role == shape.launcher:
        return metadata.name == shape.launcher_name
    index = index_of(metadata.labels) if role in (shape.workers, *shape.fixed) else None
    return index is not None and metadata.name == kind.pod_name(job, role, index)


def predecessors(job: Job[Any], caches: Caches) -> dict[str, datetime | None]:
    """Objects left of an earlier job of this name, and by when they are deleted, if they are terminating."""
    key = JobKey(job.kind, job.metadata.namespace, job.metadata.name)
    return {
        f"{informer.resource.kind} {view.metadata.name}": view.metadata.deletion_timestamp
        for informer in caches.made
        for view in informer.where(BY_JOB, key)
        if (owner := view.metadata.controller) is not None
        and (owner.kind, owner.name) == (job.kind, job.metadata.name)
        and owner.uid != job.metadata.uid
    }


def _owner(metadata: Metadata) -> str:
    return metadata.controller.uid if metadata.controller else ""


def _owned(metadata: Metadata, job: Job[Any]) -> bool:
    return _owner(metadata) == job.metadata.uid


def held(view: HeldView) -> Held:
    metadata = view.metadata
    body: dict[str, Any] = {"metadata": {"labels": metadata.labels, "annotations": metadata.annotations}}
    body |= {part: value for part in _PARTS if (value := getattr(view, part)) is not None}
    return Held(metadata.uid, metadata.resource_version, body)


def launcher_job(view: BatchJobView) -> LauncherJob:
    def holds(type_: str) -> bool:
        return any(each.type == type_ and each.status == "True" for each in view.status.conditions)

    failure = next((each for each in view.status.conditions if each.type == "Failed" and each.status == "True"), None)
    return LauncherJob(
        uid=view.metadata.uid,
        suspended=view.spec.suspend,
        succeeded=holds("Complete"),
        failed=failure is not None,
        reason=quoting.line(failure.reason, quoting.REASON) if failure else "",
        message=quoting.line(failure.message) if failure else "",
        failures=view.status.failed,
        completed=view.status.completion_time,
        terminating=view.metadata.deletion_timestamp is not None,
        started=view.status.start_time,
        template=msgspec.to_builtins(view.spec.template) if view.spec.suspend else {},
    )


def pod(view: PodView, silent: Container[str] = ()) -> Pod:
    metadata, status = view.metadata, view.status
    main, disruption, restarts = _main(view), _disruption(view), _restarts(view)
    return Pod(
        name=metadata.name,
        uid=metadata.uid,
        role=metadata.labels.get(ROLE, ""),
        index=index_of(metadata.labels),
        phase=status.phase or "Pending",
        ready=any(each.type == "Ready" and each.status == "True" for each in status.conditions),
        terminating=metadata.deletion_timestamp is not None,
        node=view.spec.node_name,
        host_ip=status.host_ip,
        reason=quoting.line(status.reason, quoting.REASON) or (NODE_LOST if view.spec.node_name in silent else ""),
        message=quoting.line(status.message or (disruption.message if disruption and status.phase == FAILED else "")),
        disrupted=disruption is not None and status.phase == FAILED,
        disruption=disruption.reason if disruption else "",
        created=metadata.creation_timestamp,
        started=_started(main),
        exit=_exit(view, main),
        restarts=restarts,
        last_exit=_last_exit(view, main) if restarts else None,
        waiting=waiting(view),
        annotations=metadata.annotations,
    )


def _disruption(view: PodView) -> Condition | None:
    """The condition of a pod that has ended or is terminating by an eviction, by its node, or because its node is gone.
    For other pods the condition is only an announcement."""
    if view.status.phase != FAILED and view.metadata.deletion_timestamp is None:
        return None
    found = (each for each in view.status.conditions if each.type == "DisruptionTarget" and each.status == "True")
    return next(found, None)


def _main(view: PodView) -> ContainerStatus | None:
    """The status of the container that trains: the first one, unless the pod names another. The others are sidecars."""
    first = view.metadata.annotations.get(CONTAINER) or (view.spec.containers[0].name if view.spec.containers else "")
    return next((each for each in view.status.container_statuses if each.name == first), None)


def _started(main: ContainerStatus | None) -> datetime | None:
    life = (main.state.running or main.state.terminated) if main else None
    return life.started_at if life else None


def _exit(view: PodView, main: ContainerStatus | None) -> Exit | None:
    """How the main container ended, or another one that failed before the main one could start."""
    ended = main.state.terminated if main else None
    if ended is None or not ended.exit_code:
        ended = next(_failed(_containers(view)), ended)
    return ended_as(ended)


def _restarts(view: PodView) -> int:
    return sum(each.restart_count for each in _no_sidecars(view))


def _last_exit(view: PodView, main: ContainerStatus | None) -> Exit | None:
    """How a container ended that was restarted: the main one, otherwise one that failed."""
    if main is not None and main.last_state.terminated is not None:
        return ended_as(main.last_state.terminated)
    return ended_as(
        next((end for each in _no_sidecars(view) if (end := each.last_state.terminated) and end.exit_code), None)
    )


def _no_sidecars(view: PodView) -> tuple[ContainerStatus, ...]:
    """All containers but sidecar init containers: those are restarted whatever becomes of the pod, even after exit code
    0."""
    sidecars = {each.name for each in view.spec.init_containers if each.restart_policy == "Always"}
    return tuple(each for each in _containers(view) if each.name not in sidecars)


def _containers(view: PodView) -> tuple[ContainerStatus, ...]:
    return (*view.status.init_container_statuses, *view.status.container_statuses)


def _failed(statuses: Iterable[ContainerStatus]) -> Iterator[Terminated]:
    return (each.state.terminated for each in statuses if each.state.terminated and each.state.terminated.exit_code)
