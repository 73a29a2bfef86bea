# SPDX-License-Identifier: Apache-2.0
"""A role of a job: its pod template, the number of replicas, and the restart policy. The names of roles that several
kinds share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import field

from springtide.api.kinds.fields import Int32, PodTemplate, Wire, doc, one_of

LAUNCHER: Final = "Launcher"
WORKER: Final = "Worker"


class RestartPolicy(StrEnum):
    NEVER = "Never"
    ON_FAILURE = "OnFailure"
    ALWAYS = "Always"
    EXIT_CODE = "ExitCode"


class ReplicaSpec(Wire, frozen=True, kw_only=True):
    replicas: Annotated[Int32 | None, doc("The number of pods of this role.")] = None
    template: PodTemplate = field(default_factory=dict)
    restart_policy: Annotated[
        str | None,
        doc(
            "Whether the containers of a pod are restarted when they end. Overrides the restartPolicy of the template.",
            one_of(RestartPolicy),
        ),
    ] = None


REPLICA_NEEDS: Final = {"required": ["template"]}
"""The fields that the CRD requires of every role."""
