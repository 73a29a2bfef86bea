# SPDX-License-Identifier: Apache-2.0
"""Which jobs are old enough to be deleted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from springtide.cli.jobs import finding
from springtide.cli.jobs.finding import Job
from springtide.kube.client import Client
from springtide.views.jobs import JobView, job_view


class Old(NamedTuple):
    found: Job
    view: JobView
    age: float


async def old_jobs(client: Client, namespace: str, since: float, now: datetime) -> Sequence[Old]:
    """Jobs that have ended, and were made at least `since` seconds ago. Others are never pruned: a job that is pending
    waits for its turn, and one that is scaling trains."""
    jobs = [(found, job_view(found.obj)) for found in await finding.all_jobs(client, namespace)]
    return [Old(found, view, view.age(now)) for found, view in jobs if view.finished and view.age(now) >= since]
