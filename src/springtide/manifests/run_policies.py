# SPDX-License-Identifier: Apache-2.0
"""How a TFJob or a PyTorchJob ends, and what is left of it."""

from __future__ import annotations

from springtide.manifests.objects import Obj, filled
from springtide.manifests.submission import PyTorchJob, TfJob
from springtide.messages import Text, text

_CLEAN_POLICIES = ("None", "Running", "All")


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


def problems(job: TfJob | PyTorchJob) -> list[Text]:
    found = []
    if job.clean_policy not in _CLEAN_POLICIES:
        found.append(text("--clean-task-policy is {policy}, and must be None, Running or All", policy=job.clean_policy))
    limits = (("--running-timeout", job.running_timeout), ("--ttl-after-finished", job.ttl_after_finished))
    found += [text("{flag} must not be negative", flag=flag) for flag, seconds in limits if seconds < 0]
    return found
