# SPDX-License-Identifier: Apache-2.0
"""The files in the launcher's /etc/mpi."""

from __future__ import annotations

from collections.abc import Mapping

from springtide.api.defaults.mpijob import MPI
from springtide.api.job import Job
from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.mpijob import Implementation
from springtide.jobs.kind import Hosts
from springtide.jobs.kinds.mpi import names
from springtide.jobs.observed import Settings
from springtide.jobs.parts import host_files, launcher_names
from springtide.jobs.parts.host_files import DISCOVER, GIVEN, HOSTFILE, KUBEXEC


def files(job: Job[MPI], hosts: Hosts, settings: Settings) -> Mapping[str, str]:
    """Hosts are listed once the list is for a launcher pod."""
    own = job.own
    listed = _hosts(job, hosts.listed, settings) if hosts.serves else []
    between = " slots=" if own.implementation is Implementation.OPEN_MPI else ":"
    made = {
        HOSTFILE: host_files.hostfile(listed, own.slots_per_worker, between),
        DISCOVER: host_files.discover_hosts(listed, own.slots_per_worker),
        GIVEN: host_files.hosts_given(hosts.serves),
    }
    return made | ({KUBEXEC: host_files.kubexec(own.main_container)} if own.mode.attach is AttachMode.KUBEXEC else {})


def _hosts(job: Job[MPI], pods: tuple[str, ...], settings: Settings) -> list[str]:
    first = (launcher_names.launcher(job),) if job.own.launcher_is_host else ()
    return [names.host(job, pod, settings.cluster_domain) for pod in (*first, *pods)]
