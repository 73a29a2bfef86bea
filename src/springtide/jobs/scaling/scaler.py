# SPDX-License-Identifier: Apache-2.0
"""A scaler as the engine reads it: a ScaleOut or a ScaleIn, whatever its kind is called, and the run of its script."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from springtide.api.kinds.scalers import DEFAULT_TIMEOUT, SCALE_OUT, ScalerStatus
from springtide.jobs.times import LONG_AGO


@dataclass(frozen=True, slots=True)
class Scaler:
    """Not controlled by anything but this job: scalers with another controller are not among `Observed.scalers`."""

    kind: str
    """ScaleOut, otherwise ScaleIn."""
    name: str
    uid: str
    resource_version: str = ""
    created: datetime | None = None
    terminating: bool = False
    """Its deletion has been requested. Such a scaler is cancelled, and its status is no longer written."""
    count: int | None = None
    pod_names: tuple[str, ...] = ()
    """Workers to remove by name; they take precedence over the count."""
    script: str = ""
    """The path of a script in the launcher; empty: none."""
    env: tuple[tuple[str, str], ...] = ()
    timeout: timedelta = timedelta(seconds=DEFAULT_TIMEOUT)
    backoff_limit: int = 0
    """How often a failed script is run again."""
    status: ScalerStatus = field(default_factory=ScalerStatus)
    bound: bool = False
    """Has this job's uid as controller."""
    error: str = ""
    """Why its spec is invalid; empty if it is valid. Only its metadata and status are then read."""

    @property
    def adds(self) -> bool:
        return self.kind == SCALE_OUT.kind

    @property
    def order(self) -> tuple[datetime, str, str]:
        """Scalers take their turns in this order."""
        return self.created or LONG_AGO, self.name, self.kind

    @property
    def title(self) -> str:
        """In conditions and events of the job, and of the scaler that waits for this one."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """The run of a scaler's script that was started last. A run that this operator does not know of, because an earlier
    one started it, is missing: the script is then run again."""

    attempt: int
    """That of the `RunScript` action."""
    exit_code: int | None = None
    """None while the script runs."""
    last_lines: str = ""
    """The end of its output, or why it could not be run."""
