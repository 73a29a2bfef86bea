# SPDX-License-Identifier: Apache-2.0
"""The objects that a kind needs beside a job's pods, in order of creation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from springtide.api.job import Job
from springtide.api.kinds.conditions import finished
from springtide.jobs.kind import Hosts, Kind, Wanted
from springtide.jobs.observed import Settings


def files(kind: Kind, job: Job[Any], hosts: Hosts, settings: Settings) -> Mapping[str, str]:
    """The files of the config object; empty for a kind without a host list."""
    return kind.hosts.files(job, hosts, settings) if kind.hosts is not None else {}


def wanted(kind: Kind, job: Job[Any], hosts: Hosts) -> tuple[Wanted, ...]:
    """Objects that must exist before any pod."""
    services = kind.services.services(job, hosts) if kind.services is not None else ()
    secrets = kind.secrets.secrets(job) if kind.secrets is not None else ()
    rights = kind.hosts.rights(job, hosts) if kind.hosts is not None else ()
    others = kind.objects.objects(job, hosts) if kind.objects is not None and not _is_over(job) else ()
    return (*services, *secrets, *rights, *others)


def _is_over(job: Job[Any]) -> bool:
    """The job is suspended or finished: an autoscaler, for instance, has nothing to scale."""
    return job.run.suspend or finished(job.status.conditions)
