# SPDX-License-Identifier: Apache-2.0
"""How a launcher reaches its workers: `launcherAttachMode`, of all kinds that have a launcher."""

from __future__ import annotations

from enum import StrEnum


class AttachMode(StrEnum):
    KUBEXEC = "kubexec"
    SSH = "ssh"
