# SPDX-License-Identifier: Apache-2.0
"""The volumes and containers that the operator adds to the pods of a TrainingJob, under et-operator's names."""

from __future__ import annotations

from typing import Final

from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.pod_parts import KUBECTL_CONTAINER, WAITING_CONTAINER, Parts
from springtide.api.kinds.replicas import LAUNCHER

CONFIG_VOLUME: Final = "training-job-config"
HOSTFILE_VOLUME: Final = "training-job-hostfile"
DEEPSPEED_VOLUME: Final = "deepspeed-hostfile"
KUBECTL_VOLUME: Final = "training-job-kubectl"
KEYS_VOLUME: Final = "training-job-ssh"
"""The SSH keys for a launcher that does not run as root."""
HOSTFILE_CONTAINER: Final = "init-hostfile"

_VOLUMES: Final = (CONFIG_VOLUME, HOSTFILE_VOLUME, DEEPSPEED_VOLUME)
_CONTAINERS: Final = (HOSTFILE_CONTAINER, WAITING_CONTAINER)


def parts_of(attach: AttachMode, role: str, ssh_secret: str) -> Parts:
    """`ssh_secret` is the name of the Secret with keys, and of its volume.

    Whether kubectl is delivered depends on the operator's options. Its names are reserved in any case, so that a job is
    also valid for an operator with other options."""
    ssh = (ssh_secret,) if attach is AttachMode.SSH else ()
    if role != LAUNCHER:
        return Parts(ssh or (CONFIG_VOLUME,))
    if attach is AttachMode.SSH:
        return Parts((*_VOLUMES, *ssh, KEYS_VOLUME), _CONTAINERS)
    return Parts((*_VOLUMES, KUBECTL_VOLUME), (*_CONTAINERS, KUBECTL_CONTAINER))
