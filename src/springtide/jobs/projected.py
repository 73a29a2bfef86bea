# SPDX-License-Identifier: Apache-2.0
"""The snapshot of a job as it will be once a plan's actions have been performed.

The status is written last, and only if all actions before it succeeded. So it can describe the pods that the same plan
creates and deletes; otherwise it would be written a second time as soon as they are observed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from springtide.jobs.actions import Action, Create, Delete
from springtide.jobs.objects import ROLE, index_of
from springtide.jobs.observed import LauncherJob, Pod
from springtide.jobs.snapshot import Snapshot


def projected(snapshot: Snapshot, actions: Iterable[Action]) -> Snapshot:
    created: list[Pod] = []
    ending: set[str] = set()
    for action in actions:
        if isinstance(action, Create) and action.manifest["kind"] == "Pod":
            created.append(_pod(action))
        elif isinstance(action, Create) and action.manifest["kind"] == "Job":
            snapshot = replace(snapshot, observed=replace(snapshot.observed, launcher_job=_launcher_job(action)))
        elif isinstance(action, Delete) and action.key.kind == "Pod":
            ending.add(action.uid)
    if ending:
        snapshot = _with_pods_ending(snapshot, ending)
    return _with_pods(snapshot, created) if created else snapshot


def _pod(create: Create) -> Pod:
    metadata = create.manifest["metadata"]
    labels = metadata["labels"]
    return Pod(name=metadata["name"], uid="", role=labels.get(ROLE, ""), index=index_of(labels))


def _launcher_job(create: Create) -> LauncherJob:
    return LauncherJob(uid="", suspended=bool(create.manifest["spec"].get("suspend")))


def _with_pods(snapshot: Snapshot, pods: Sequence[Pod]) -> Snapshot:
    shape = snapshot.shape
    workers = {pod.index: pod for pod in pods if pod.role == shape.workers and pod.index is not None}
    launcher = next((pod for pod in reversed(pods) if pod.role == shape.launcher), snapshot.launcher)
    return replace(
        snapshot,
        observed=replace(snapshot.observed, pods=(*snapshot.observed.pods, *pods)),
        workers={**snapshot.workers, **workers},
        launcher=launcher,
    )


def _with_pods_ending(snapshot: Snapshot, uids: Collection[str]) -> Snapshot:
    def ending(pod: Pod) -> Pod:
        return replace(pod, terminating=True) if pod.uid in uids else pod

    return replace(
        snapshot,
        observed=replace(snapshot.observed, pods=tuple(map(ending, snapshot.observed.pods))),
        workers={index: ending(pod) for index, pod in snapshot.workers.items()},
        launcher=ending(snapshot.launcher) if snapshot.launcher else None,
    )
