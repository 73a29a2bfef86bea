# SPDX-License-Identifier: Apache-2.0
"""The pods of this node, as the agent knows them: object, directory, shim, and the states of their containers.

Everything here can be restored from the API and the pods' directories, so an agent may die at any moment. `Record` is
what only the agent knows and therefore writes to disk itself, as `pod.json`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from springtide.kube.resources import Key, Obj
from springtide.local.kubelet.containers.bodies import Prepared
from springtide.local.kubelet.pods import interruptions
from springtide.local.kubelet.pods.observed import Failure, Observed, Stop, Verdict
from springtide.local.kubelet.pods.restarts import BackOff
from springtide.local.kubelet.specs import pod_specs
from springtide.local.pod_logs.reading import Options, files_of, text
from springtide.local.runtime.contract import ContainerState

if TYPE_CHECKING:
    from springtide.local.runtime.shim_client import Shim

_RECORD = "pod.json"


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """The owner of a pod directory, and facts that exist nowhere else."""

    node: str
    namespace: str
    name: str
    uid: str
    address: str
    grace: float = pod_specs.DEFAULT_GRACE
    """Used for a pod whose object is deleted when the next agent starts."""
    earlier: dict[str, int] = {}
    """The newest attempt of each container when the present sandbox was created."""
    reset: dict[str, int] = {}
    """The newest attempt of each container when all containers last started over."""

    def write(self, directory: Path) -> None:
        fresh = directory / f"{_RECORD}.new"
        fresh.write_bytes(msgspec.json.encode(self))
        fresh.replace(directory / _RECORD)

    @classmethod
    def read(cls, directory: Path) -> Record | None:
        """None when there is no readable record: the agent died before the pod was set up."""
        try:
            return msgspec.json.decode((directory / _RECORD).read_bytes(), type=cls)
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
            return None


def records(pods: Path, node: str) -> Iterator[Record]:
    """The records of one node's pods. All nodes of a machine share the directory."""
    names = sorted(os.listdir(pods)) if pods.is_dir() else []
    for name in names:
        record = Record.read(pods / name)
        if record is not None and record.node == node:
            yield record


def read_state(directory: Path, container: str, attempt: int) -> ContainerState | None:
    """The state file that the shim wrote for one attempt."""
    try:
        data = (directory / "containers" / container / f"{attempt}.json").read_bytes()
        return msgspec.json.decode(data, type=ContainerState)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None


@dataclass(slots=True, eq=False)
class LocalPod:
    obj: Obj
    directory: Path
    logs: Path
    address: str
    """The pod's own address; the host's for a pod on the host's network."""
    shim: Shim | None = None
    states: dict[str, ContainerState] = field(default_factory=dict)
    """The newest attempt of each container."""
    previous: dict[str, ContainerState] = field(default_factory=dict)
    images: dict[str, str] = field(default_factory=dict)
    earlier: dict[str, int] = field(default_factory=dict)
    reset: dict[str, int] = field(default_factory=dict)
    interrupted: dict[str, int] = field(default_factory=dict)
    status: Obj = field(default_factory=dict)
    """As last reported to the API."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    stops: dict[str, Stop] = field(default_factory=dict)
    starting: set[str] = field(default_factory=set)
    back_offs: dict[str, BackOff] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    sandbox_failure: Failure | None = None
    prepared: Prepared | None = None
    """What all containers of this sandbox need; computed once by `bodies.Maker`."""
    stale: bool = False
    """What the agent writes into the pod's volumes may be out of date."""
    nudged: bool = False
    """Its labels or annotations were changed, by which operators signal that an object the pod refers to has changed,
    too."""
    removed: bool = False
    closing: bool = False
    finished: bool = False

    @property
    def uid(self) -> str:
        return pod_specs.uid_of(self.obj)

    @property
    def key(self) -> Key:
        return Key.of(self.obj)

    def log_files(self, container: str, previous: bool = False) -> list[Path]:
        """The log files of the newest attempt or the one before, oldest first, including rotated ones."""
        state = self.states.get(container)
        attempt = (state.attempt if state is not None else 0) - (1 if previous else 0)
        return self.attempt_log(container, attempt) if attempt >= 0 else []

    def attempt_log(self, container: str, attempt: int) -> list[Path]:
        return files_of(self.logs / container, attempt)

    def log_text(
        self, container: str, attempt: int, options: Options, running: Callable[[], bool]
    ) -> AsyncGenerator[bytes, None]:
        """The log of an attempt in chunks; when followed, until `running` is false and everything was read."""
        return text(partial(self.attempt_log, container, attempt), options, running)

    @property
    def is_mirror(self) -> bool:
        return False

    def attempts(self) -> dict[str, int]:
        """The number of the newest attempt of each container."""
        return {name: state.attempt for name, state in self.states.items()}

    def take_in(self, state: ContainerState) -> bool:
        """Record a state reported by the shim; returns whether it was new."""
        known = self.states.get(state.name)
        if known is not None and (known.attempt > state.attempt or known == state):
            return False
        if known is not None and known.attempt < state.attempt:
            self.previous[state.name] = known
        elif known is None and state.attempt > 0:
            before = read_state(self.directory, state.name, state.attempt - 1)
            if before is not None:
                self.previous[state.name] = before
        if known is None or known.attempt != state.attempt:
            self.verdicts.pop(state.name, None)
        self.states[state.name] = state
        if state.status == "exited":
            self.interrupted |= interruptions.marked(self.directory, [state])
        return True

    def observed(self) -> Observed:
        return Observed(
            sandbox=self.shim is not None,
            states=self.states,
            previous=self.previous,
            images=self.images,
            earlier=self.earlier,
            reset=self.reset,
            verdicts=self.verdicts,
            stops=self.stops,
            starting=frozenset(self.starting),
            back_offs=self.back_offs,
            failures=self.failures,
            sandbox_failure=self.sandbox_failure,
            start=pod_specs.start_of(self.status),
            phase=str(self.status.get("phase") or ""),
            removed=self.removed,
            closing=self.closing,
            interrupted=self.interrupted,
            finished=self.finished,
        )


class Pods:
    """All pods of this node, by uid: a new pod may have the name of one that is still ending."""

    def __init__(self) -> None:
        self._pods: dict[str, LocalPod] = {}

    def find(self, namespace: str, name: str, uid: str = "") -> LocalPod | None:
        if uid:
            return self._pods.get(uid)
        named = [pod for pod in self._pods.values() if pod.key == Key(namespace, name)]
        # Of two pods with one name, the one whose object still exists.
        return min(named, key=lambda pod: pod.removed, default=None)

    def get(self, uid: str) -> LocalPod | None:
        return self._pods.get(uid)

    def all(self) -> list[LocalPod]:
        return list(self._pods.values())

    def add(self, pod: LocalPod) -> None:
        self._pods[pod.uid] = pod

    def remove(self, uid: str) -> None:
        self._pods.pop(uid, None)
