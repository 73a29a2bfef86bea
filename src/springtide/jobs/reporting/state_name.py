# SPDX-License-Identifier: Apache-2.0
"""The ten states of a job."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class StateName(StrEnum):
    CREATED = "Created"
    QUEUED = "Queued"
    STARTING = "Starting"
    RUNNING = "Running"
    SCALING_OUT = "Scaling out"
    SCALING_IN = "Scaling in"
    SUSPENDED = "Suspended"
    RESTARTING = "Restarting"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class State(NamedTuple):
    name: StateName
    explanation: str
