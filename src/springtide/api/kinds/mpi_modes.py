# SPDX-License-Identifier: Apache-2.0
"""What follows from the way an MPIJob's launcher reaches its workers, which is to say from the version it came by.

The table is all that tells v1 from v2beta1: nobody else asks for a version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.replicas import LAUNCHER, WORKER, RestartPolicy
from springtide.api.kinds.run_policy import MPI_OPERATOR, MULTIKUEUE, TRAINING_OPERATOR


class LauncherForm(StrEnum):
    """What the launcher is created as."""

    POD = "Pod"
    BATCH_JOB = "Job"


@dataclass(frozen=True, slots=True)
class Mode:
    attach: AttachMode
    launcher_form: LauncherForm
    """A batch Job tries its pod again by itself; a pod is tried again by the engine."""
    default_restart: Mapping[str, RestartPolicy]
    restart_policies: tuple[RestartPolicy, ...]
    default_workers: int | None
    """How many a role without a number is said to have; None: the number is what is missing."""
    min_slots: int
    managers: tuple[str, ...]
    """What `managedBy` may say."""
    gpu_launcher_is_host: bool
    """A launcher that asks for a GPU is taken for a worker."""


MODES: Final[Mapping[AttachMode, Mode]] = {
    AttachMode.KUBEXEC: Mode(
        attach=AttachMode.KUBEXEC,
        launcher_form=LauncherForm.POD,
        default_restart={LAUNCHER: RestartPolicy.NEVER, WORKER: RestartPolicy.NEVER},
        restart_policies=tuple(RestartPolicy),
        default_workers=None,
        min_slots=1,
        managers=(TRAINING_OPERATOR, MULTIKUEUE),
        gpu_launcher_is_host=True,
    ),
    AttachMode.SSH: Mode(
        attach=AttachMode.SSH,
        launcher_form=LauncherForm.BATCH_JOB,
        default_restart={LAUNCHER: RestartPolicy.ON_FAILURE, WORKER: RestartPolicy.NEVER},
        restart_policies=(RestartPolicy.NEVER, RestartPolicy.ON_FAILURE),
        default_workers=0,
        min_slots=0,
        managers=(MPI_OPERATOR, MULTIKUEUE),
        gpu_launcher_is_host=False,
    ),
}

_BY_VERSION: Final = {"kubeflow.org/v1": AttachMode.KUBEXEC, "kubeflow.org/v2beta1": AttachMode.SSH}


def mode_of(marker: str | None, api_version: str) -> Mode | None:
    """The mode of a job; one without a marker, from a cluster with another CRD, is of the version it is read by."""
    given = marker or _BY_VERSION.get(api_version)
    return MODES[AttachMode(given)] if given in tuple(AttachMode) else None


def submitted_as(spec: Mapping[str, Any]) -> str | None:
    """The version a job came by, as far as its spec says: what is made for it names its owner by that.

    A guess, because nothing states it: an object is read in one version, whichever it was written in, and
    `metadata.managedFields` changes with every writer. The CRD defaults `launcherAttachMode` to another value in each
    version and never lets it change, so the field tells the versions apart unless the user set it to the value of the
    other. Such a job is taken for one of the other version all its life: the two differ in nothing but what follows
    from this field, and the API server serves an owner under either version."""
    marker = spec.get("launcherAttachMode")
    return next((version for version, mode in _BY_VERSION.items() if mode == marker), None)
