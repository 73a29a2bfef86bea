# SPDX-License-Identifier: Apache-2.0
"""Arena's charts, one per type of job: their names and versions stand in labels and in the ConfigMap beside a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from springtide.manifests.submissions.submission import (
    DeepSpeedJob,
    EtJob,
    MpiJob,
    PyTorchJob,
    Submission,
    TfJob,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    type: str
    """The type of job, as after `submit`: the value of the label `app`, and the end of the ConfigMap's name."""
    created_by: str
    name: str
    version: str


_ETJOB: Final = "0.3.2"
_CHARTS: Final[dict[type[Submission], Chart]] = {
    EtJob: Chart(type="etjob", created_by="etjob", name="etjob", version=_ETJOB),
    DeepSpeedJob: Chart(type="deepspeedjob", created_by="deepspeedjob", name="etjob", version=_ETJOB),
    MpiJob: Chart(type="mpijob", created_by="MPIJob", name="mpijob", version="0.28.0"),
    TfJob: Chart(type="tfjob", created_by="TFJob", name="tfjob", version="0.39.1"),
    PyTorchJob: Chart(type="pytorchjob", created_by="PyTorchJob", name="pytorchjob", version="0.5.2"),
}


def chart_of(submission: Submission) -> Chart:
    return _CHARTS[type(submission)]
