# SPDX-License-Identifier: Apache-2.0
"""The objects of a submission, in the order in which they are created."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from springtide.manifests import bookkeeping
from springtide.manifests.kinds import etjob, mpijob, pytorchjob, tfjob
from springtide.manifests.parts import values
from springtide.manifests.parts.objects import Obj
from springtide.manifests.submissions.submission import DeepSpeedJob, EtJob, MpiJob, PyTorchJob, Submission, TfJob


class _Type(NamedTuple):
    objects: Callable[[Any], list[Obj]]
    """The job comes last."""
    values: Callable[[Any], Obj]


_TRAINING_JOB: Final = _Type(etjob.objects, etjob.values)
_TYPES: Final[dict[type[Submission], _Type]] = {
    EtJob: _TRAINING_JOB,
    DeepSpeedJob: _TRAINING_JOB,
    MpiJob: _Type(mpijob.objects, mpijob.values),
    TfJob: _Type(tfjob.objects, tfjob.values),
    PyTorchJob: _Type(pytorchjob.objects, pytorchjob.values),
}


def render(submission: Submission) -> list[Obj]:
    """Everything that belongs to the job, and the job itself as the last object."""
    return _TYPES[type(submission)].objects(submission)


def kept_beside(submission: Submission, objects: list[Obj], isolated: bool = False) -> Obj:
    """The ConfigMap for what `render` returned."""
    kept = values.common(submission, objects[-1]) | _TYPES[type(submission)].values(submission)
    return bookkeeping.config_map(submission, kept, objects, isolated)
