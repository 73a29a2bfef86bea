# SPDX-License-Identifier: Apache-2.0
"""Code that an init container fetches into the pods, with git or rsync."""

from __future__ import annotations

from collections.abc import Mapping

from springtide.manifests.objects import Obj
from springtide.manifests.submission import Compute, Submission
from springtide.manifests.volumes import Mounted


def volumes(submission: Submission) -> list[Mounted]:
    if submission.code_sync is None:
        return []
    raise NotImplementedError


def init_containers(submission: Submission, variables: Mapping[str, str], compute: Compute) -> list[Obj]:
    if submission.code_sync is None:
        return []
    raise NotImplementedError
