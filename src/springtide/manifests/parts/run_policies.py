# SPDX-License-Identifier: Apache-2.0
"""How a TFJob or a PyTorchJob ends, and what is left of it."""

from __future__ import annotations

from springtide.manifests.parts.objects import Obj, filled
from springtide.manifests.submissions.submission import PyTorchJob, TfJob


def run_policy(job: TfJob | PyTorchJob) -> Obj:
    return filled(
        cleanPodPolicy=job.clean_policy,
        activeDeadlineSeconds=job.running_timeout,
        ttlSecondsAfterFinished=job.ttl_after_finished,
        suspend=job.queue,
    )


def values(job: TfJob | PyTorchJob) -> Obj:
    """The same as values of Arena's charts, and that our CustomResourceDefinitions have `runPolicy`."""
    return {
        "cleanPodPolicy": job.clean_policy,
        "shareMemory": job.shared_memory,
        "trainingOperatorCRD": True,
        **filled(activeDeadlineSeconds=job.running_timeout, ttlSecondsAfterFinished=job.ttl_after_finished),
    }
