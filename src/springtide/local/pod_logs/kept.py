# SPDX-License-Identifier: Apache-2.0
"""The logs that are kept of removed pods: what is on disk, and how it is found again.

    kept-logs/
      lock                                       held while a directory is added or removed
      default_mnist-worker-0_1789…_64_<uid>/     namespace, pod, time of removal, size in KiB, uid
        pod.json                                 what is known of the pod, see `Pod`
        main/0.log, main/1.log                   by container and attempt, as `reading` reads them
      .removing-<uid>                            is being removed

A directory's name says all that is needed to remove the oldest: no file is read for it. Names of namespaces and pods
contain no underscore; a long name of a pod is cut, `pod.json` has it in full. Only directories that were listed are
ever opened, so no name in a request becomes a path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

KEPT: Final = "kept-logs"
"""The directory in that of a cluster."""
CARD: Final = "pod.json"
"""What is known of the pod: in its log directory as soon as the pod starts. Logs without it are not kept."""
REMOVING: Final = ".removing-"
_LONGEST_CARD: Final = 64 << 10
_LONGEST_POD: Final = 120
"""Characters of a pod's name in that of its directory."""
_MOST_LABELS: Final = 8 << 10
"""Characters of labels that are kept."""
_UID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PARTS, _UID_LENGTH = 5, 36

_DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
_JOB_LABELS: Final = ("training.kubeflow.org/job-name", "training-job-name", "mpi-job-name", "mpi_job_name")
"""One of them is on every pod of a training job, whoever made the pod: this operator, et-operator, training-operator or
mpi-operator."""


class Pod(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a removed pod."""

    namespace: str
    name: str
    uid: str
    job: str
    """The name of its job."""
    node: str = ""
    created: str = ""
    labels: dict[str, str] = {}
    owner: dict[str, str] = {}
    """Its controller: apiVersion, kind, name and uid."""
    container: str = ""
    """The one that users look at first."""


class Entry(NamedTuple):
    """A directory of kept logs."""

    removed: int
    """Nanoseconds since the epoch."""
    uid: str
    namespace: str
    kib: int
    top: Path
    name: str

    @property
    def path(self) -> Path:
        return self.top / self.name


def pod_of(obj: Mapping[str, Any], node: str) -> Pod | None:
    """What is to be known of a pod when it is removed; None for a pod that belongs to no training job."""
    metadata = obj["metadata"]
    labels = metadata.get("labels") or {}
    job = next((labels[label] for label in _JOB_LABELS if labels.get(label)), "")
    if not job or not re.fullmatch(_UID, metadata["uid"]):
        return None
    owner: Mapping[str, Any] = next(
        (each for each in metadata.get("ownerReferences") or () if each.get("controller")), {}
    )
    return Pod(
        metadata["namespace"],
        metadata["name"],
        metadata["uid"],
        job,
        node,
        metadata.get("creationTimestamp") or "",
        _bounded(labels),
        {part: str(owner[part]) for part in ("apiVersion", "kind", "name", "uid") if part in owner},
        _main_container(obj),
    )


def _main_container(obj: Mapping[str, Any]) -> str:
    names = [each["name"] for each in (obj.get("spec") or {}).get("containers") or ()]
    named = (obj["metadata"].get("annotations") or {}).get(_DEFAULT_CONTAINER, "")
    return named if named in names else next(iter(names), "")


def _bounded(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels without the longest ones, if all together are too long."""
    room = _MOST_LABELS
    found: dict[str, str] = {}
    for name, text in sorted(labels.items(), key=lambda item: len(item[0]) + len(item[1])):
        room -= len(name) + len(text)
        if room < 0:
            break
        found[name] = text
    return found


def write_card(logs: Path, pod: Pod) -> None:
    logs.mkdir(parents=True, exist_ok=True)
    draft = logs / f".{CARD}.new"
    draft.write_bytes(msgspec.json.encode(pod))
    draft.replace(logs / CARD)


def read_card(directory: Path) -> Pod | None:
    """None if there is none, or none that can be read."""
    try:
        with (directory / CARD).open("rb") as file:
            return msgspec.json.decode(file.read(_LONGEST_CARD), type=Pod)
    except (OSError, msgspec.DecodeError):
        return None


def directory_name(pod: Pod, removed: int, size: int) -> str:
    return f"{pod.namespace}_{pod.name[:_LONGEST_POD]}_{removed}_{-(-size // 1024)}_{pod.uid}"


def entries(kept: Path) -> list[Entry]:
    """All directories of kept logs, oldest first."""
    try:
        names = os.listdir(kept)
    except OSError:
        return []
    found = [entry for name in names if (entry := _entry(kept, name)) is not None]
    return sorted(found)


def _entry(kept: Path, name: str) -> Entry | None:
    """None for a name that is none of ours. Called for all names whenever logs are added, so it has to be fast."""
    parts = name.split("_")
    if len(parts) != _PARTS or len(parts[-1]) != _UID_LENGTH:
        return None
    namespace, _, removed, kib, uid = parts
    if not (namespace and removed.isdecimal() and kib.isdecimal()):
        return None
    return Entry(int(removed), uid, namespace, int(kib), kept, name)


def attempts(directory: Path) -> dict[str, list[int]]:
    """The attempts of each container that has a log, oldest first."""
    found: dict[str, list[int]] = {}
    for container in _directories(directory):
        numbers = {_attempt(name) for name in os.listdir(directory / container)}
        numbers.discard(None)
        if numbers:
            found[container] = sorted(number for number in numbers if number is not None)
    return found


def _directories(directory: Path) -> list[str]:
    try:
        with os.scandir(directory) as found:
            return sorted(each.name for each in found if each.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _attempt(name: str) -> int | None:
    number, dot, _ = name.partition(".log")
    return int(number) if dot and number.isascii() and number.isdigit() else None
