# SPDX-License-Identifier: Apache-2.0
"""Names of the objects of a job with a launcher, the same in all kinds that have one."""

from __future__ import annotations

from typing import Any

from springtide.api.job import Job
from springtide.api.kinds.replicas import LAUNCHER
from springtide.jobs.parts import access


def launcher(job: Job[Any]) -> str:
    return launcher_of(job.metadata.name)


def launcher_of(job: str) -> str:
    """The launcher's name in a job of this name."""
    return f"{job}-launcher"


def account(job: Job[Any]) -> str:
    """The launcher's ServiceAccount."""
    return access.account(job.roles[LAUNCHER].template, otherwise=launcher(job))


def worker(job: Job[Any], index: int) -> str:
    return f"{job.metadata.name}-worker-{index}"


def config(job: Job[Any]) -> str:
    return f"{job.metadata.name}-config"


def app(job: Job[Any]) -> dict[str, str]:
    return {"app": job.metadata.name}
