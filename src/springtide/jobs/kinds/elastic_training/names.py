# SPDX-License-Identifier: Apache-2.0
"""Labels and names of a TrainingJob's objects; clients of et-operator select by them."""

from __future__ import annotations

from typing import Any, Final

from springtide.api.defaults.trainingjob import ET
from springtide.api.job import Job
from springtide.api.kinds.scalers import GROUP

SCALED_BY: Final = "scaleout-name"
"""The label of workers that a ScaleOut has added."""


def role(job: Job[Any], role_: str) -> dict[str, str]:
    """Labels of the pods of one role."""
    return {"group-name": GROUP, "training-job-name": job.metadata.name, "training-job-role": role_}


def worker(job: Job[Any], index: int) -> dict[str, str]:
    """Labels that select one worker."""
    return {**role(job, "worker"), "replica-index": str(index)}


def secret(job: Job[ET]) -> str:
    """The Secret with the SSH keys: one that the user names, otherwise that of the job."""
    return job.own.ssh_secret or job.metadata.name
