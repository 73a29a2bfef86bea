# SPDX-License-Identifier: Apache-2.0
"""What is seen of pods at one moment: what the API says, what lies on disk and which processes there are."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash_pods import logs, machine
from tests.crash_pods.cluster import Cluster
from tests.crash_pods.logs import Account
from tests.crash_pods.machine import Process

from springtide.kube.resources import Obj


@dataclass(frozen=True)
class Life:
    """One container, as it is at one moment."""

    pod: str
    uid: str
    container: str
    restarts: int
    started: str = ""
    """As the API says it, while it runs."""
    process: Process | None = None
    """What its shim says it runs as, if that lives."""
    exit_code: int | None = None
    reason: str = ""
    last_exit: int | None = None
    last_reason: str = ""
    logs: tuple[Account, ...] = ()
    """One for each attempt."""

    @property
    def name(self) -> str:
        return f"{self.pod}/{self.container}"

    @property
    def log(self) -> Account:
        return self.logs[-1] if self.logs else Account()


@dataclass(frozen=True)
class Traces:
    """What there is of pods on this machine, by uid or name, to be held against the pods there are."""

    directories: frozenset[str] = frozenset()
    log_directories: frozenset[str] = frozenset()
    sockets: frozenset[str] = frozenset()
    shims: frozenset[str] = frozenset()
    """Uids of pods that have a living shim, or anything else that names their directory."""
    cables: frozenset[str] = frozenset()
    mounts: tuple[str, ...] = ()


def lives(cluster: Cluster, pod: Obj) -> list[Life]:
    """Of all containers that run for long: what only prepares has had its time."""
    spec, status = pod["spec"], pod.get("status") or {}
    names = [one["name"] for one in spec["containers"]]
    names += [one["name"] for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    told = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return [_life(cluster, pod, one) for one in told if one["name"] in names]


def _life(cluster: Cluster, pod: Obj, told: dict[str, Any]) -> Life:
    uid, name, restarts = pod["metadata"]["uid"], told["name"], told["restartCount"]
    state, last = told.get("state") or {}, told.get("lastState") or {}
    ended, ended_before = state.get("terminated") or {}, last.get("terminated") or {}
    return Life(
        pod["metadata"]["name"],
        uid,
        name,
        restarts,
        started=(state.get("running") or {}).get("startedAt", ""),
        process=_process(cluster.place.pods / uid / "containers" / name / f"{restarts}.json"),
        exit_code=ended.get("exitCode"),
        reason=ended.get("reason", ""),
        last_exit=ended_before.get("exitCode"),
        last_reason=ended_before.get("reason", ""),
        logs=tuple(logs.read(path) for path in log_files(cluster, pod, name, restarts)),
    )


def _process(state: Path) -> Process | None:
    try:
        pid = json.loads(state.read_bytes()).get("pid")
    except (OSError, ValueError):
        return None
    return machine.process(pid) if pid else None


def log_files(cluster: Cluster, pod: Obj, container: str, newest: int) -> list[Path]:
    metadata = pod["metadata"]
    folder = cluster.place.path / "logs" / f"{metadata['namespace']}_{metadata['name']}_{metadata['uid']}" / container
    return [folder / f"{attempt}.log" for attempt in range(newest + 1)]


def traces(cluster: Cluster) -> Traces:
    place, netd = cluster.place, cluster.netd()
    prefix = f"{place.pods}/"
    running = {
        word.removeprefix(prefix).partition("/")[0]
        for pid in machine.naming(place.pods)
        for word in machine.words(pid)
        if word.startswith(prefix)
    }
    supervisor = cluster.supervisor()
    return Traces(
        directories=_names(place.pods),
        log_directories=_names(place.path / "logs"),
        sockets=frozenset(name.removesuffix(".sock") for name in _names(place.path / "exec")),
        shims=frozenset(running),
        cables=frozenset(name for name in machine.links(netd.pid if netd else 0) if name.startswith("pod")) - {"pods"},
        mounts=tuple(machine.mounts_under(place.path, supervisor.pid if supervisor else "self")),
    )


def _names(folder: Path) -> frozenset[str]:
    return frozenset(path.name for path in folder.iterdir()) if folder.is_dir() else frozenset()


def uids(pods: Iterable[Obj]) -> dict[str, str]:
    return {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in pods}
