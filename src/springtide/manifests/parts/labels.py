# SPDX-License-Identifier: Apache-2.0
"""Labels and annotations of a job, its pods and the objects beside it. Arena finds jobs and pods by them."""

from __future__ import annotations

from typing import Final

from springtide.manifests.parts.charts import chart_of
from springtide.manifests.submissions.submission import Submission

USER_ID: Final = "arena.kubeflow.org/uid"
USER_NAME: Final = "arena.kubeflow.org/username"
REQUESTED_GPUS: Final = "requestGPUsOfJobOwner"
QUEUED: Final = "scheduling.x-k8s.io/suspend"
CHIEF_POD: Final = "master-pod-name"
"""On the chief's pod: its own name, for pods that have to be placed beside it."""
MODEL_NAME: Final = "modelName"
RESERVED: Final = frozenset({"app", "chart", "release", "heritage", "createdBy", USER_ID})
"""Labels that a user cannot choose: without them Arena finds neither the job nor its owner."""


def chart_labels(submission: Submission) -> dict[str, str]:
    """The labels of every object of a job, TensorBoard's and ConfigMaps included."""
    chart = chart_of(submission)
    return {
        "app": chart.type,
        "chart": f"{chart.name}-{chart.version}",
        "release": submission.name,
        "heritage": "Helm",
        "createdBy": chart.created_by,
    }


def job_labels(submission: Submission) -> dict[str, str]:
    """The labels of a job and of its pods."""
    model = {MODEL_NAME: submission.model_name} if submission.model_name else {}
    user = {USER_ID: submission.user.id}
    return {**submission.labels, **model, **chart_labels(submission), **user}


def job_annotations(submission: Submission, requested_gpus: int, more: dict[str, str] | None = None) -> dict[str, str]:
    """The annotations of a job and of its pods; `more` has those of its type."""
    queued = {QUEUED: "true"} if submission.queue else {}
    written = {USER_NAME: submission.user.name, REQUESTED_GPUS: str(requested_gpus)}
    return {**submission.annotations, **queued, **written, **(more or {})}
