# SPDX-License-Identifier: Apache-2.0
"""TensorBoard beside a job: its Deployment and Service, and the directory that it shares with the job's pods."""

from __future__ import annotations

from collections.abc import Mapping

from springtide.manifests.objects import Obj
from springtide.manifests.submission import Submission
from springtide.manifests.volumes import Mounted


def volumes(submission: Submission) -> list[Mounted]:
    if submission.tensorboard is None:
        return []
    raise NotImplementedError


def objects(submission: Submission, beside: Mapping[str, str]) -> list[Obj]:
    if submission.tensorboard is None:
        return []
    raise NotImplementedError
