# SPDX-License-Identifier: Apache-2.0
"""The judge of jobs whose replicas keep their names: what they lack, and what became of them. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests import named_replicas
from tests.crash_jobs import verdict
from tests.crash_jobs.history import Line, Seen
from tests.crash_jobs.jobs import LEAST, Wanted
from tests.crash_jobs.verdict import Blows, holding, is_alive, is_ready, owner

from springtide.kube.resources import Obj


def lacking(
    wanted: Wanted,
    job: Obj,
    pods: Sequence[Obj],
    services: Sequence[Obj],
    config: Obj | None,
    size: int | None,
) -> Iterator[str]:
    """What a job lacks that is asked to run at this size, or, without one, that merely runs; or that is suspended."""
    if verdict.is_suspended(job):
        yield from verdict.unsuspended(job, pods)
        return
    status, conditions = job.get("status") or {}, holding(job)
    again = wanted.in_place and "it was restarted" in status.get("explanation", "")  # for a minute after a restart
    if status.get("state") != ("Restarting" if again else "Running") or "Running" not in conditions:
        yield f"it is {status.get('state')}: {status.get('explanation')} {conditions}"
    if size is None or config is None:
        return
    kept = named_replicas.ledger(config)
    runs = size if wanted.elastic else kept.get("sizes", {}).get("Worker")
    if (runs != size) != ("SizeDeferred" in conditions):
        yield f"{runs} workers run, {size} are wanted, and {sorted(conditions)} hold"
    places = {role: wanted.others[role] for role in wanted.others} | {"Worker": runs or 0}
    names = {f"{wanted.name}-{role.lower()}-{index}" for role, count in places.items() for index in range(count)}
    yield from _lacking_replicas(pods, services, names, set(kept.get("done", ())))
    if not str(status.get("workers")).endswith(f"/{runs}"):
        yield f"its status is {status.get('workers')}, {runs} run: {status.get('explanation')}"


def _lacking_replicas(pods: Sequence[Obj], services: Sequence[Obj], names: set[str], done: set[str]) -> Iterator[str]:
    """Of one pod for each name that has not succeeded, and of one Service for each."""
    ready = {pod["metadata"]["name"] for pod in pods if is_alive(pod) and is_ready(pod)}
    shown = {pod["metadata"]["name"]: verdict.phase(pod) for pod in pods}
    if ready != names - done or not shown.keys() <= names:
        yield f"ready are {sorted(ready)} of {sorted(names)} among {shown}, {sorted(done)} have succeeded"
    served = {service["metadata"]["name"] for service in services}
    if served != names:
        yield f"there are services of {sorted(served)}, not of {sorted(names)}"


def unmet(wanted: Wanted, pods: Sequence[Obj], lines: Sequence[Line]) -> Iterator[str]:
    """Replicas that do not reach the first one by its name. A parameter server of a dynamic TFJob knows only itself."""
    leader = f"{wanted.name}-{wanted.leader.lower()}-0"
    meets = {line.launcher: line.what["meets"] for line in lines if "meets" in line.what}
    for pod in pods:
        name, met = pod["metadata"]["name"], meets.get(pod["metadata"]["uid"])
        if is_alive(pod) and is_ready(pod) and met != (name if verdict.role(pod) == "PS" else leader):
            yield f"{name} meets {met!r} in the place of {leader}"


def judge(wanted: Wanted, seen: Sequence[Seen], lines: Sequence[Line], blows: Blows) -> list[str]:
    faults = [*verdict.judge_jobs(wanted, seen, blows), *_course(wanted, seen), *judge_told(wanted, seen, lines, blows)]
    return list(dict.fromkeys(faults))


def _course(wanted: Wanted, seen: Sequence[Seen]) -> Iterator[str]:
    courses: dict[str, named_replicas.Course] = {}
    for each in seen:
        course = courses.setdefault(owner(each.object), named_replicas.Course(wanted.whole))
        if each.kind == "ConfigMap":
            course.ledger(each.object, each.gone)
        if each.kind == "Pod":
            yield from (f"{fault} (at {each.version})" for fault in course.pod(each.object, each.gone))


def judge_told(wanted: Wanted, seen: Sequence[Seen], lines: Sequence[Line], blows: Blows) -> Iterator[str]:
    """What programs were told of themselves and of the size of their job."""
    pods = {each.uid: each for each in seen if each.kind == "Pod"}
    sizes: dict[str, set[str]] = {}
    for line in lines:
        pod = pods.get(line.launcher)
        if pod is None or "start" not in line.what:
            continue
        told: Mapping[str, Any] = line.what["told"]
        yield from _told_wrong(wanted, pod.name, line.what["start"], told)
        sizes.setdefault(owner(pod.object), set()).add(str(told.get("WORLD_SIZE")))
    for job, found in sizes.items():
        if len(found) > 1 and not wanted.whole and not wanted.elastic and job not in blows.suspended:
            yield f"its replicas were told of {sorted(found)} processes"


def _told_wrong(wanted: Wanted, pod: str, host: str, told: Mapping[str, Any]) -> Iterator[str]:
    if host != pod:
        yield f"{pod} is {host} to its program"
    if wanted.most and told.get("PET_NNODES") != f"{LEAST}:{wanted.most}":
        yield f"{pod} may be one of {told.get('PET_NNODES')} nodes"
    if wanted.leader == "PS":
        servers = len(json.loads(told.get("TF_CONFIG", "{}")).get("cluster", {}).get("ps", ()))
        if servers != wanted.others["PS"] and "-ps-" not in pod:
            yield f"{pod} was told of {servers} parameter servers"
