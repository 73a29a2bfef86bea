# SPDX-License-Identifier: Apache-2.0
"""Volumes of a job's pods and where they are mounted: claims, host directories, configuration files, shared memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final, NamedTuple

from springtide.manifests.parts.labels import chart_labels
from springtide.manifests.parts.objects import Obj, metadata
from springtide.manifests.submissions.submission import ConfigFile, Submission

SHARED_MEMORY: Final = "dshm"
_KEY_LENGTH: Final = 15


class Mounted(NamedTuple):
    """A volume and the path of its only mount."""

    volume: Obj
    path: str

    @property
    def mount(self) -> Obj:
        return {"name": self.volume["name"], "mountPath": self.path}


def claims(submission: Submission) -> list[Mounted]:
    """`--data`: volumes are named as their claims."""
    return [
        Mounted({"name": claim.name, "persistentVolumeClaim": {"claimName": claim.name}}, claim.path)
        for claim in submission.claims
    ]


def host_directories(submission: Submission) -> list[Mounted]:
    return [
        Mounted({"name": each["name"], "hostPath": {"path": each["hostPath"]}}, each["containerPath"])
        for each in host_directory_values(submission)
    ]


def host_directory_values(submission: Submission) -> list[Obj]:
    """As values of Arena's charts."""
    return [
        {"name": f"training-data-{index}", "hostPath": directory.host, "containerPath": directory.path}
        for index, directory in enumerate(submission.host_directories)
    ]


def shared_memory(size: str) -> list[Mounted]:
    """/dev/shm of this size; none if it is empty: a container's own has 64 MiB."""
    if not size:
        return []
    return [Mounted({"name": SHARED_MEMORY, "emptyDir": {"medium": "Memory", "sizeLimit": size}}, "/dev/shm")]


def config_files(submission: Submission) -> list[Mounted]:
    """A volume per directory in the container."""
    return [
        Mounted({"name": key, "configMap": {"name": f"{submission.name}-{key}"}}, directory)
        for directory in _directories(submission.config_files)
        for key in (_key(directory),)
    ]


def config_maps(submission: Submission) -> list[Obj]:
    """The ConfigMaps of `--config-file`, one per directory in the container."""
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(submission, f"{submission.name}-{_key(directory)}", chart_labels(submission)),
            "data": {file.name: file.content for file in submission.config_files if file.directory == directory},
        }
        for directory in _directories(submission.config_files)
    ]


def config_file_values(submission: Submission) -> Obj:
    """As values of Arena's charts, without the contents."""
    return {
        _key(directory): {
            f"config-{index}": {"containerFileName": file.name, "containerFilePath": directory}
            for index, file in enumerate(submission.config_files)
            if file.directory == directory
        }
        for directory in _directories(submission.config_files)
    }


def _directories(files: Iterable[ConfigFile]) -> list[str]:
    return sorted({file.directory for file in files}, key=_key)


def _key(directory: str) -> str:
    return hashlib.md5(directory.encode(), usedforsecurity=False).hexdigest()[:_KEY_LENGTH]
