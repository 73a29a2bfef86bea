# SPDX-License-Identifier: Apache-2.0
"""Which logs a job has: of which pods and containers, under which short names. Pure.

A pod's container is the one that trains: the one that `kubectl.kubernetes.io/default-container` names, or the first.
While the pod is initialising, it is the init container that the pod waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from springtide.views import trainers

Obj = Mapping[str, Any]

LAUNCHER: Final = "launcher"
_DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
_HELPERS: Final = ("ps", "evaluator")
"""Roles without a rank."""


class LogSource(NamedTuple):
    """The log of one attempt of a container."""

    pod: str
    uid: str
    container: str
    attempt: int
    label: str
    """Short name: worker-0."""
    started: bool = True
    """Whether there is a log."""
    running: bool = False
    """Whether it may still grow."""
    waits_for: str = ""
    """Why there is none."""
    kept: str = ""
    """The name of the kept log of a removed pod."""

    @property
    def key(self) -> str:
        return f"{self.uid}/{self.container}/{self.attempt}"


class Wanted(NamedTuple):
    """Which of a job's logs are wanted; empty: all."""

    instance: str = ""
    container: str = ""
    rank: int | None = None


def of_pods(job: Obj, pods: Iterable[Obj], wanted: Wanted) -> list[LogSource]:
    """The wanted logs of the job's pods, by role and index."""
    found = [_of_pod(job, pod, wanted.container) for pod in _sorted(pods) if _is_wanted(job, pod, _name(pod), wanted)]
    return [source for source in found if source is not None]


def of_removed(job: Obj, items: Iterable[Obj], alive: Iterable[str], wanted: Wanted) -> list[LogSource]:
    """The wanted logs of removed pods of the job. `items` are kept logs, `alive` the uids of pods that exist."""
    present = set(alive)
    found = [item for item in items if trainers.owns(job, item) and item["uid"] not in present]
    return [
        source
        for item in _sorted(found)
        if _is_wanted(job, item, item["pod"], wanted)
        for source in _of_item(job, item, wanted.container)
    ]


def job_of_removed(name: str, items: Iterable[Obj]) -> tuple[str, list[Obj]]:
    """The kept logs of a deleted job: its uid, and those of its last run. Of several jobs that had the name, those of
    the newest."""
    found = [item for item in items if item.get("job") == name]
    newest = max(found, key=lambda item: (_created(item), item["removed"]), default=None)
    if newest is None:
        return "", []
    own = [item for item in found if _owner(item).get("kind") != "Job"]
    uid = str(_owner(max(own, key=_created, default=newest)).get("uid", ""))
    first = min((_created(item) for item in own if _owner(item).get("uid") == uid), default="")
    return uid, [
        item
        for item in found
        if _owner(item).get("uid") == uid or (_owner(item).get("kind") == "Job" and _created(item) >= first)
    ]


def has_launcher(items: Iterable[Obj]) -> bool:
    return any(trainers.role(item) == LAUNCHER for item in items)


def of_deleted_job(name: str, items: Sequence[Obj], wanted: Wanted) -> list[LogSource]:
    """The wanted logs of a job that does not exist any more."""
    job = {"metadata": {"name": name}}
    chosen = [item for item in items if wanted.instance in ("", item["pod"])]
    if wanted.rank is not None:
        if has_launcher(items):
            chosen = [item for item in chosen if trainers.role(item) == LAUNCHER]
        else:
            masters = [trainers.role(item) for item in items if trainers.role(item) in ("master", "chief")]
            chief = masters[0] if masters else "worker"
            chosen = [item for item in chosen if _rank(item, chief) == wanted.rank]
    return [source for item in _sorted(chosen) for source in _of_item(job, item, wanted.container)]


def containers(pods: Iterable[Obj]) -> list[str]:
    """The names of all containers of the pods."""
    return list(dict.fromkeys(each["name"] for pod in pods for each in _containers(pod)))


def rank_marks_lines(job: Obj) -> bool:
    """Whether the lines of ranks are in the launcher's log, each with its rank."""
    return trainers.chief_role(job) == LAUNCHER


def default_container(pod: Obj) -> str:
    """Empty for a pod without containers."""
    names = [each["name"] for each in (pod.get("spec") or {}).get("containers") or ()]
    named = (pod["metadata"].get("annotations") or {}).get(_DEFAULT_CONTAINER, "")
    return named if named in names else next(iter(names), "")


# Pods


def _is_wanted(job: Obj, pod: Obj, name: str, wanted: Wanted) -> bool:
    if wanted.instance:
        return name == wanted.instance
    if wanted.rank is None:
        return True
    chief = trainers.chief_role(job)
    if chief == LAUNCHER:
        return trainers.role(pod) == LAUNCHER
    return _rank(pod, chief) == wanted.rank


def _rank(pod: Obj, chief: str) -> int | None:
    role, index = trainers.role(pod), trainers.index(pod)
    if role in _HELPERS or role == LAUNCHER:
        return None
    return index if role == chief else index + 1


def _of_pod(job: Obj, pod: Obj, asked: str) -> LogSource | None:
    container = asked or _initialising(pod) or default_container(pod)
    if container not in (each["name"] for each in _containers(pod)):
        return None
    reported = _status_of(pod, container)
    state, attempt = reported.get("state") or {}, int(reported.get("restartCount") or 0)
    started = bool({"running", "terminated"} & state.keys() or (reported.get("lastState") or {}).get("terminated"))
    metadata = pod["metadata"]
    return LogSource(
        metadata["name"],
        metadata["uid"],
        container,
        attempt,
        _label(job, metadata["name"]),
        started,
        "running" in state,
        "" if started else (state.get("waiting") or {}).get("reason") or _reason(pod),
    )


def _initialising(pod: Obj) -> str:
    """The init container that the pod waits for; empty if it waits for none."""
    status = pod.get("status") or {}
    if status.get("phase") == "Failed" or not _is_initialising(status):
        failed = [
            each["name"]
            for each in status.get("initContainerStatuses") or ()
            if ((each.get("state") or {}).get("terminated") or {}).get("exitCode")
        ]
        return failed[-1] if failed and status.get("phase") == "Failed" else ""
    for each in status.get("initContainerStatuses") or ():
        state = each.get("state") or {}
        if "running" in state or "waiting" in state or (state.get("terminated") or {}).get("exitCode"):
            return str(each["name"])
    return ""


def _is_initialising(status: Obj) -> bool:
    conditions = {each.get("type"): each.get("status") for each in status.get("conditions") or ()}
    return status.get("phase", "Pending") == "Pending" and conditions.get("Initialized") == "False"


def _status_of(pod: Obj, container: str) -> Obj:
    status = pod.get("status") or {}
    fields = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
    found: Iterable[Obj] = (each for field in fields for each in status.get(field) or ())
    return next((each for each in found if each["name"] == container), {})


def _reason(pod: Obj) -> str:
    for each in (pod.get("status") or {}).get("conditions") or ():
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            return str(each.get("reason") or "Unschedulable")
    return str((pod.get("status") or {}).get("reason") or "Pending")


def _containers(pod: Obj) -> list[Obj]:
    spec = pod.get("spec") or {}
    fields = ("initContainers", "containers", "ephemeralContainers")
    return [each for field in fields for each in spec.get(field) or ()]


# Removed pods


def _of_item(job: Obj, item: Obj, asked: str) -> list[LogSource]:
    names = [each["name"] for each in item["containers"]]
    main = item.get("defaultContainer", "")
    chosen = asked or (main if main in names else next(iter(names), ""))
    label = _label(job, item["pod"])
    return [
        LogSource(item["pod"], item["uid"], each["name"], each["restartCount"], label, kept=item["metadata"]["name"])
        for each in item["containers"]
        if each["name"] == chosen
    ]


def _owner(item: Obj) -> Obj:
    found: Obj = next(iter(item["metadata"].get("ownerReferences") or ()), {})
    return found


def _created(item: Obj) -> str:
    return str(item["metadata"].get("creationTimestamp") or "")


def _sorted(pods: Iterable[Obj]) -> list[Obj]:
    return sorted(pods, key=lambda pod: (trainers.role(pod), trainers.index(pod), _name(pod)))


def _name(pod: Obj) -> str:
    return str(pod["metadata"]["name"])


def _label(job: Obj, name: str) -> str:
    """The pod's name without that of its job, and without the random end of a batch Job's pod."""
    return name.removeprefix(f"{job['metadata']['name']}-")
