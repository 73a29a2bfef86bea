# SPDX-License-Identifier: Apache-2.0
"""The files of the config object, and where launchers find them.

    /etc/mpi    all of them
    /etc/edl    hostfile, discover_hosts.sh
    /job        hostfile, in DeepSpeed's format

All are volumes of the same object, mounted as a whole, so that one write and one sync of the kubelet update them all.
Mounts of single files (subPath) would never be updated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from springtide.api.defaults.trainingjob import ET
from springtide.api.job import Job
from springtide.api.kinds.replicas import WORKER
from springtide.jobs.kind import Hosts
from springtide.jobs.kinds.elastic_training import ssh_access
from springtide.jobs.parts import host_files
from springtide.jobs.parts.host_files import DISCOVER, GIVEN, HOSTFILE, KUBEXEC

DEEPSPEED: Final = "deepspeed-hostfile"
ALL: Final = (HOSTFILE, DISCOVER, KUBEXEC, DEEPSPEED, GIVEN, ssh_access.CLIENT)
LIVE_PATH: Final = "/etc/edl"
LIVE: Final = (HOSTFILE, DISCOVER)
DISCOVERY: Final = f"{LIVE_PATH}/{DISCOVER}"
DEEPSPEED_PATH: Final = "/job"


def files(job: Job[ET], hosts: Hosts) -> Mapping[str, str]:
    """Hosts are listed once the list is for a launcher pod. Workers have names of their own in DNS."""
    listed, slots = hosts.listed if hosts.serves else (), job.own.slots_per_worker
    container = job.roles[WORKER].template["spec"]["containers"][0].get("name", "")
    return {
        HOSTFILE: host_files.hostfile(listed, slots, ":"),
        DISCOVER: host_files.discover_hosts(listed, slots),
        KUBEXEC: host_files.kubexec(container),
        DEEPSPEED: host_files.hostfile(listed, slots, " slots="),
        GIVEN: host_files.hosts_given(hosts.serves),
        ssh_access.CLIENT: ssh_access.client(),
    }
