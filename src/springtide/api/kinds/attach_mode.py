# SPDX-License-Identifier: Apache-2.0
"""How a launcher reaches its workers: `launcherAttachMode`, of all kinds that have a launcher."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

SSH_AUTH_MOUNT_PATH: Final = "/root/.ssh"
"""Where keys are mounted unless the job says otherwise."""


class AttachMode(StrEnum):
    KUBEXEC = "kubexec"
    SSH = "ssh"
