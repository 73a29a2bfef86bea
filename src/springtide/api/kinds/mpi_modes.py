# SPDX-License-Identifier: Apache-2.0
"""The properties of an MPIJob that depend on how its launcher reaches its workers, and so on the version it was
submitted in.

This table has all differences between v1 and v2beta1; no other module depends on the version.
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
    """The object that the launcher is created as."""

    POD = "Pod"
    BATCH_JOB = "Job"


@dataclass(frozen=True, slots=True)
class Mode:
    attach: AttachMode
    launcher_form: LauncherForm
    """The controller of batch Jobs retries the pod of a Job; the engine retries a pod."""
    default_restart: Mapping[str, RestartPolicy]
    restart_policies: tuple[RestartPolicy, ...]
    default_workers: int | None
    """The number of workers if the role gives none; None: the number is required."""
    min_slots: int
    managers: tuple[str, ...]
    """The allowed values of `managedBy`."""
    gpu_launcher_is_host: bool
    """A launcher that requests a GPU also counts as a worker."""


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
    """The mode of a job. A job without a marker, from a cluster with another CRD, has the version in which it is
    read."""
    given = marker or _BY_VERSION.get(api_version)
    return MODES[AttachMode(given)] if given in tuple(AttachMode) else None


def submitted_as(spec: Mapping[str, Any]) -> str | None:
    """The API version in which a job was submitted, judged by its spec; owner references to the job use this version.

    This is a guess, because no field records the version: an object is read in one version whichever it was written in,
    and `metadata.managedFields` changes with every writer. The CRD has a different default of `launcherAttachMode` in
    each version, and the field is immutable, so it identifies the version unless the user set it to the default of the
    other version. Such a job is treated as one of the other version for its whole life. This is harmless: the versions
    differ only in what depends on this field, and the API server serves an owner under either version."""
    marker = spec.get("launcherAttachMode")
    return next((version for version, mode in _BY_VERSION.items() if mode == marker), None)
