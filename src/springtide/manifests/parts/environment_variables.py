# SPDX-License-Identifier: Apache-2.0
"""Environment variables of all containers of a job, as a list sorted by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from springtide.manifests.parts.objects import Obj
from springtide.manifests.submissions.submission import Submission

VISIBLE_DEVICES: Final = "NVIDIA_VISIBLE_DEVICES"
NO_DEVICES: Final = "void"
_SHARED_GPU_LABEL: Final = "aliyun.com/gpu-count"
_SHARED_GPU_DEVICE: Final = "aliyun.com/gpu-mem"


def variables(submission: Submission, own: Mapping[str, str], gpus: int | None = None) -> dict[str, str]:
    """The user's variables, the numbers that a command computes with, and `own` of the type or role, which win.

    NVIDIA's runtime shows all GPUs of a node to a container that requests none unless told otherwise. `gpus` is what a
    role requests that differs from the workers."""
    written = {"workers": str(submission.workers), "gpus": str(submission.gpus)}
    requested = submission.gpus if gpus is None else gpus
    if requested == 0 and not _shares_gpus(submission):
        written[VISIBLE_DEVICES] = NO_DEVICES
    return {**submission.variables, **written, **own}


def as_list(values: Mapping[str, str]) -> list[Obj]:
    return [{"name": name, "value": values[name]} for name in sorted(values)]


def _shares_gpus(submission: Submission) -> bool:
    return bool(submission.labels.get(_SHARED_GPU_LABEL) or submission.devices.get(_SHARED_GPU_DEVICE))
