# SPDX-License-Identifier: Apache-2.0
"""The adapter of TrainingJob."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from springtide.api.defaults.trainingjob import ET
from springtide.api.job import Job
from springtide.api.kinds.replicas import LAUNCHER, WORKER
from springtide.api.kinds.status import JobStatus
from springtide.api.kinds.trainingjob import JOB_STATUS_ANNOTATION, MAX_WAIT_TIME_ANNOTATION, RESOURCE, TIMED_OUT
from springtide.jobs.actions import Event
from springtide.jobs.kind import Hosts, Kind, MaxWait, Shape, Wanted
from springtide.jobs.kinds.elastic_training import files, names, phases, pods, sizes
from springtide.jobs.launchers.pod import POD
from springtide.jobs.observed import Exit, Settings
from springtide.jobs.parts import access, launcher_advice, launcher_names, launcher_programs, services, ssh
from springtide.jobs.policies import worker_restart_policy
from springtide.jobs.snapshot import Snapshot

_SIZE: Final = (*RESOURCE.scale.roles, RESOURCE.scale.role, "replicas") if RESOURCE.scale else ()
_PORTS: Final = ({"name": "ssh-port", "port": 22}, {"name": "kubeai-service-port", "port": 9009})


_REASONS: Final = {
    "WorkerReplaced": "TrainingJobWorkerFailed",
    worker_restart_policy.NOT_REPLACED: "TrainingJobWorkerFailed",
    worker_restart_policy.CREATED: "TrainingJobWorkerCreated",
}
"""Events by et-operator's names."""


class _Launching:
    def manifest(self, job: Job[ET], settings: Settings) -> Mapping[str, Any]:
        return pods.launcher(job, settings)


class _Wiring:
    def files(self, job: Job[ET], hosts: Hosts, settings: Settings) -> Mapping[str, str]:
        return files.files(job, hosts)

    def rights(self, job: Job[ET], hosts: Hosts) -> tuple[Wanted, ...]:
        """Over SSH a launcher runs no commands through the API server, but reports its progress."""
        reached = replace(hosts, reachable=()) if pods.over_ssh(job) else hosts
        named = launcher_names.launcher(job), launcher_names.account(job), launcher_names.app(job)
        return access.wanted(job, reached, *named)

    def services(self, job: Job[ET], hosts: Hosts) -> tuple[Wanted, ...]:
        """A name for each worker. It resolves before the worker is ready, because a worker that is briefly not ready
        must not lose its name."""
        wanted = ((each.name, names.worker(job, each.index)) for each in hosts.members)
        return tuple(services.headless(job, name, labels, labels, _PORTS) for name, labels in wanted)

    def secrets(self, job: Job[ET]) -> tuple[Wanted, ...]:
        if not pods.over_ssh(job) or job.own.ssh_secret is not None:
            return ()
        return (ssh.secret_of_files(job, names.secret(job), launcher_names.app(job)),)


class ElasticTrainingKind(Kind):
    launching = _Launching()
    hosts = services = secrets = _Wiring()
    resizable = sizes.TrainingJobSizes()

    def shape(self, job: Job[ET]) -> Shape:
        found = sizes.launch(job)
        return Shape(
            workers=WORKER,
            launcher=LAUNCHER,
            form=POD,
            launcher_name=launcher_names.launcher(job),
            config_name=launcher_names.config(job),
            saves=sizes.is_elastic(found) and launcher_programs.saves(found),
            waits_for_workers=True,
            starts_early=job.own.start_size_min,
            worker_restarts=job.own.worker_restart,
            launcher_restarts=job.own.launcher_restart,
            evictions_count=True,
            max_wait=_max_wait(job),
            keeps_launcher=True,
            size_field=_SIZE,
            slots_per_worker=job.own.slots_per_worker,
        )

    def pod_name(self, job: Job[ET], role: str, index: int) -> str:
        return launcher_names.worker(job, index)

    def pod(self, job: Job[ET], role: str, index: int, settings: Settings) -> Mapping[str, Any]:
        return pods.worker(job, index, settings)

    def launcher_role(self) -> str:
        return LAUNCHER

    def launcher_name(self, job: str) -> str:
        return launcher_names.launcher_of(job)

    def scaler_label(self) -> str:
        return names.SCALED_BY

    def is_quiet(self, condition: str) -> bool:
        return condition in phases.STEPS

    def event_reason(self, reason: str) -> str:
        return _REASONS.get(reason, reason)

    def status(self, snapshot: Snapshot, status: JobStatus) -> JobStatus:
        return phases.filled(snapshot, status)

    def warnings(self, job: Job[ET]) -> tuple[Event, ...]:
        return launcher_programs.lacks_hosts(sizes.launch(job), files.DISCOVERY)

    def advice(self, job: Job[ET], ended: Exit) -> str:
        return launcher_advice.on(job, job.own.slots_per_worker, ended)

    def selector(self, job: Job[ET]) -> Mapping[str, str]:
        return names.role(job, "worker")


def _max_wait(job: Job[ET]) -> MaxWait | None:
    limit = job.own.max_wait
    return MaxWait(limit, MAX_WAIT_TIME_ANNOTATION, {JOB_STATUS_ANNOTATION: TIMED_OUT}) if limit is not None else None


ELASTIC_TRAINING_KIND: Final = ElasticTrainingKind()
