# SPDX-License-Identifier: Apache-2.0
"""The volumes and containers that the operator adds to the pods of an MPIJob. Users' own must not have their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.pod_parts import KUBECTL_CONTAINER, WAITING_CONTAINER, Parts
from springtide.api.kinds.replicas import LAUNCHER, WORKER

CONFIG_VOLUME: Final = "mpi-job-config"
KUBECTL_VOLUME: Final = "mpi-job-kubectl"
SSH_VOLUME: Final = "ssh-auth"

PARTS: Final[Mapping[tuple[AttachMode, str], Parts]] = {
    (AttachMode.KUBEXEC, LAUNCHER): Parts((CONFIG_VOLUME, KUBECTL_VOLUME), (WAITING_CONTAINER, KUBECTL_CONTAINER)),
    (AttachMode.KUBEXEC, WORKER): Parts((CONFIG_VOLUME,)),
    (AttachMode.SSH, LAUNCHER): Parts((CONFIG_VOLUME, SSH_VOLUME), (WAITING_CONTAINER,)),
    (AttachMode.SSH, WORKER): Parts((SSH_VOLUME,)),
}
"""Whether kubectl is delivered depends on the operator's options. Its names are reserved in any case, so that a job is
also valid for an operator with other options."""
