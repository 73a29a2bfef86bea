# SPDX-License-Identifier: Apache-2.0
"""Problems with the flags that only some types of jobs have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from springtide.manifests.kinds.tfjob import unknown_roles
from springtide.manifests.submissions.parsing import is_quantity
from springtide.manifests.submissions.problems import Problem, malformed, missing, too_large, too_small, unknown
from springtide.manifests.submissions.submission import (
    Compute,
    EtJob,
    LauncherJob,
    MpiJob,
    PyTorchJob,
    Spread,
    Submission,
    TfJob,
)

_CLEAN_POLICIES: Final = ("None", "Running", "All")
_JOB_RESTARTS: Final = ("Never", "OnFailure")
_WORKER_RESTARTS: Final = ("Never", "OnFailure", "Always", "ExitCode")
_LONGEST_TIME: Final = 2**31 - 1
_LARGEST_PORT: Final = 65535
_SUCCESS: Final = ("ChiefWorker", "AllWorkers")
_SPREAD: Final = ("none", "spread", "binpack")
_CONSTRAINTS: Final = ("preferred", "required")
_ROLES: Final = ("Worker", "PS", "Chief", "Evaluator")
_PROCESSES: Final = ("auto", "cpu", "gpu")


def launcher_job(submission: LauncherJob) -> Iterator[Problem]:
    yield from _image(submission)
    yield from _compute(submission.compute)
    if submission.job_backoff_limit < 0:
        yield too_small("--job-backoff-limit", submission.job_backoff_limit, 0)
    yield from _chosen("--job-restart-policy", submission.job_restart_policy, ("", *_JOB_RESTARTS))
    if isinstance(submission, EtJob):
        yield from _etjob(submission)


def mpijob(submission: MpiJob) -> Iterator[Problem]:
    yield from _image(submission)
    yield from _clean_policy(submission.clean_policy)
    yield from _compute(submission.compute)


def pytorchjob(submission: PyTorchJob) -> Iterator[Problem]:
    yield from _image(submission)
    yield from _clean_policy(submission.clean_policy)
    yield from _compute(submission.compute)
    yield from _seconds("--running-timeout", submission.running_timeout)
    yield from _seconds("--ttl-after-finished", submission.ttl_after_finished)
    yield from _quantity("--share-memory", submission.shared_memory)
    processes = submission.processes_per_node
    if processes and processes not in _PROCESSES and not (processes.isdecimal() and int(processes) > 0):
        example = f"--nproc-per-node auto|{'|'.join(_PROCESSES[1:])}|2"
        yield malformed("--nproc-per-node", processes, "NUMBER", example, "--nproc-per-node is invalid")


def tfjob(submission: TfJob) -> Iterator[Problem]:
    yield from _chosen("--success-policy", submission.success_policy, _SUCCESS, "unsupported successPolicy {value}")
    yield from _clean_policy(submission.clean_policy)
    yield from _tf_counts(submission)
    yield from _tf_images(submission)
    for word in unknown_roles(submission.role_sequence):
        yield unknown("--role-sequence", word, _ROLES)
    for role, flags in (
        ("chief", submission.chief_role),
        ("ps", submission.ps_role),
        ("evaluator", submission.evaluator_role),
        ("worker", submission.worker_role),
    ):
        yield from _compute(flags.compute, f"{role}-")
        yield from _spread(role, flags.spread)
        if not 0 <= flags.port <= _LARGEST_PORT:
            yield _out_of_range(f"--{role}-port", flags.port, _LARGEST_PORT)
    yield from _seconds("--running-timeout", submission.running_timeout)
    yield from _seconds("--starting-timeout", submission.starting_timeout)
    yield from _seconds("--ttl-after-finished", submission.ttl_after_finished)
    yield from _quantity("--share-memory", submission.shared_memory)


def _etjob(submission: EtJob) -> Iterator[Problem]:
    least, most = submission.min_workers, submission.max_workers
    if least < 1:
        yield too_small("--min-workers", least, 1)
    elif most < least:
        yield too_small("--max-workers", most, least)
    elif submission.workers < least:
        yield too_small("--workers", submission.workers, least)
    elif submission.workers > most:
        yield too_large("--workers", submission.workers, most)
    yield from _seconds("--max-wait-time", submission.max_wait_time)
    yield from _chosen("--worker-restart-policy", submission.worker_restart_policy, ("", *_WORKER_RESTARTS))


def _tf_counts(submission: TfJob) -> Iterator[Problem]:
    least = 0 if submission.chief else 1
    if submission.workers < least:
        arena = "--workers must be greater than 0 in distributed training"
        yield too_small("--workers", submission.workers, least, arena)
    if submission.ps < 0:
        yield too_small("--ps", submission.ps, 0)
    if submission.ps_gpus < 0:
        yield too_small("--ps-gpus", submission.ps_gpus, 0, "--ps-gpus is invalid")


def _tf_images(submission: TfJob) -> Iterator[Problem]:
    if submission.image:
        return
    if not submission.worker_role.image:
        yield missing("--image", "--image or --workerImage must be set")
    if submission.ps > 0 and not submission.ps_role.image:
        yield missing("--ps-image", "--image or --psImage must be set")


def _spread(role: str, spread: Spread) -> Iterator[Problem]:
    yield from _chosen(f"--{role}-affinity-policy", spread.policy, _SPREAD)
    yield from _chosen(f"--{role}-affinity-constraint", spread.constraint, _CONSTRAINTS)


def _image(submission: Submission) -> Iterator[Problem]:
    if not submission.image:
        yield missing("--image", "--image must be set")


def _clean_policy(value: str) -> Iterator[Problem]:
    yield from _chosen("--clean-task-policy", value, _CLEAN_POLICIES, "unsupported cleanTaskPolicy {value}")


def _compute(compute: Compute, prefix: str = "") -> Iterator[Problem]:
    for name, amount in (
        ("cpu", compute.cpu),
        ("memory", compute.memory),
        ("cpu-limit", compute.cpu_limit),
        ("memory-limit", compute.memory_limit),
    ):
        yield from _quantity(f"--{prefix}{name}", amount)


def _quantity(flag: str, amount: str) -> Iterator[Problem]:
    if amount and not is_quantity(amount):
        yield malformed(flag, amount, "QUANTITY", f"{flag} {'1' if 'cpu' in flag else '1Gi'}", f"{flag} is invalid")


def _seconds(flag: str, seconds: int) -> Iterator[Problem]:
    if not 0 <= seconds <= _LONGEST_TIME:
        yield _out_of_range(flag, seconds, _LONGEST_TIME, f"{flag} is invalid")


def _out_of_range(flag: str, value: int, most: int, arena: str = "") -> Problem:
    return too_small(flag, value, 0, arena) if value < 0 else too_large(flag, value, most, arena)


def _chosen(flag: str, value: str, choices: tuple[str, ...], arena: str = "") -> Iterator[Problem]:
    """An empty choice means that the flag may be left out."""
    if value not in choices:
        yield unknown(flag, value, [choice for choice in choices if choice], arena.format(value=value))
