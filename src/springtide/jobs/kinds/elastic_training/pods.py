# SPDX-License-Identifier: Apache-2.0
"""The pods of a TrainingJob: the user's templates plus what a launcher or a worker needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from springtide.api.command_lines import launch_of
from springtide.api.defaults.trainingjob import ET
from springtide.api.job import Job
from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.et_parts import (
    CONFIG_VOLUME,
    DEEPSPEED_VOLUME,
    HOSTFILE_CONTAINER,
    HOSTFILE_VOLUME,
    KUBECTL_VOLUME,
)
from springtide.api.kinds.pod_parts import KUBECTL_CONTAINER
from springtide.api.kinds.replicas import LAUNCHER, WORKER, RestartPolicy
from springtide.jobs.kinds.elastic_training import files, names, ssh_access
from springtide.jobs.objects import place
from springtide.jobs.observed import Settings
from springtide.jobs.parts import launcher_names, launcher_pods, launcher_programs, placing, ssh
from springtide.jobs.parts import pod_templates as templates
from springtide.jobs.parts.host_files import HOSTFILE, KUBEXEC

Raw = dict[str, Any]

_HOSTS: Final = launcher_programs.default_hosts(f"{files.DEEPSPEED_PATH}/{HOSTFILE}")
"""mpirun without a host list would start all ranks in the launcher, while the workers are idle."""


def over_ssh(job: Job[ET]) -> bool:
    return job.own.attach is AttachMode.SSH


def worker(job: Job[ET], index: int, settings: Settings) -> Mapping[str, Any]:
    spec = templates.spec_of(job.roles[WORKER])
    first = spec["containers"][0]
    if not first.get("command"):
        spec["containers"][0] = {**first, **_default_program(job)}
    if over_ssh(job):
        ssh_access.add_keys(job, spec)
    else:
        # Open MPI's daemon exits on a worker that does not have the file that starts it.
        templates.mount(spec, _config_volume(job, (KUBEXEC,)), launcher_pods.FILES)
    spec["restartPolicy"] = RestartPolicy.NEVER.value
    labels = {**names.worker(job, index), **place(job, WORKER, index)}
    return templates.pod(job, job.roles[WORKER], launcher_names.worker(job, index), labels, spec, settings)


def _default_program(job: Job[ET]) -> Raw:
    if not over_ssh(job):
        return {"command": ["sh", "-c", "sleep 365d"]}
    return {"command": ["sh", "-c", ssh_access.SERVER], "startupProbe": ssh_access.READY}


def launcher(job: Job[ET], settings: Settings) -> Mapping[str, Any]:
    spec = templates.spec_of(job.roles[LAUNCHER])
    alike = templates.alike(spec)
    templates.add(spec, "env", templates.variables(_variables(job, spec)))
    for volume, path in _volumes(job):
        templates.mount(spec, volume, path)
    spec["serviceAccountName"] = launcher_names.account(job)
    if over_ssh(job):
        ssh_access.add_keys(job, spec)
        ssh_access.add_keys_for_others(job, spec)
    else:
        launcher_pods.deliver_kubectl(spec, KUBECTL_CONTAINER, KUBECTL_VOLUME, settings)
    waiting = launcher_pods.waiting(HOSTFILE_CONTAINER, CONFIG_VOLUME, alike)
    spec["initContainers"] = [*(spec.get("initContainers") or ()), waiting]
    spec["affinity"] = placing.preferring_nodes_that_stay(spec.get("affinity"))
    spec["restartPolicy"] = RestartPolicy.NEVER.value  # a restarted launcher would run beside its old ranks
    labels = {**names.role(job, "launcher"), **place(job, LAUNCHER)}
    return templates.pod(job, job.roles[LAUNCHER], launcher_names.launcher(job), labels, spec, settings)


def _volumes(job: Job[ET]) -> tuple[tuple[Raw, str], ...]:
    config = launcher_names.config(job)
    deepspeed = launcher_pods.config_volume(DEEPSPEED_VOLUME, config, (files.DEEPSPEED,), {files.DEEPSPEED: HOSTFILE})
    return (
        (_config_volume(job, files.ALL), launcher_pods.FILES),
        (launcher_pods.config_volume(HOSTFILE_VOLUME, config, files.LIVE), files.LIVE_PATH),
        (deepspeed, files.DEEPSPEED_PATH),
    )


def _config_volume(job: Job[ET], keys: Sequence[str]) -> Raw:
    return launcher_pods.config_volume(CONFIG_VOLUME, launcher_names.config(job), keys)


def _variables(job: Job[ET], spec: Raw) -> dict[str, str]:
    """Those of the user override ours, except the one by which ranks are started through the API server."""
    unset = launcher_programs.patience(launch_of(job.roles[LAUNCHER].template)) | _HOSTS
    if not over_ssh(job):
        unset |= launcher_programs.AGENT_OF_OTHERS
    elif not ssh.is_root(spec, spec["containers"][0]):
        unset |= ssh_access.FOR_PDSH
    given = templates.given(spec)
    ours = {name: value for name, value in unset.items() if name not in given}
    return ours if over_ssh(job) else ours | launcher_programs.AGENT
