# SPDX-License-Identifier: Apache-2.0
"""The pods of an MPIJob: the user's templates plus what a launcher or a worker needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from springtide.api.defaults.mpijob import MPI
from springtide.api.job import Job
from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.mpi_modes import LauncherForm
from springtide.api.kinds.mpi_parts import CONFIG_VOLUME, KUBECTL_VOLUME, SSH_VOLUME
from springtide.api.kinds.pod_parts import KUBECTL_CONTAINER, WAITING_CONTAINER
from springtide.api.kinds.replicas import LAUNCHER, WORKER, RestartPolicy
from springtide.jobs.kinds.mpi import names, variables
from springtide.jobs.objects import named, place
from springtide.jobs.observed import Settings
from springtide.jobs.parts import host_files, launcher_names, launcher_pods, placing, ssh
from springtide.jobs.parts import pod_templates as templates

Raw = dict[str, Any]

_NOT_ITS_FAULT: Final = {
    "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
}
"""A launcher that ended by a shutdown, a drain or a preemption is replaced without counting against `backoffLimit`."""


def worker(job: Job[MPI], index: int, settings: Settings) -> Mapping[str, Any]:
    over_ssh, name = job.own.mode.attach is AttachMode.SSH, launcher_names.worker(job, index)
    spec = templates.spec_of(job.roles[WORKER])
    first = spec["containers"][0]
    if not first.get("command") and not first.get("args"):
        first |= {"command": ["/usr/sbin/sshd", "-De"]} if over_ssh else {"command": ["sleep"], "args": ["365d"]}
    if over_ssh:
        _on_network(job, spec, name)
        templates.add(spec, "env", templates.variables({"K_MPI_JOB_ROLE": "worker"}))
        _search(job, spec, settings)
    else:
        templates.mount(spec, _config_volume(job, (host_files.KUBEXEC,)), launcher_pods.FILES)
    spec["restartPolicy"] = templates.restart_policy(job.roles[WORKER].restart_policy)
    labels = {**names.role(job, "worker"), **names.indexed(job, index), **place(job, WORKER, index)}
    return templates.pod(job, job.roles[WORKER], name, labels, spec, settings)


def launcher(job: Job[MPI], settings: Settings) -> Mapping[str, Any]:
    name, spec = launcher_names.launcher(job), templates.spec_of(job.roles[LAUNCHER])
    over_ssh = job.own.mode.attach is AttachMode.SSH
    given = templates.given(spec)
    unset = {key: value for key, value in variables.if_unset(job).items() if key not in given}
    role = {"K_MPI_JOB_ROLE": "launcher"} if over_ssh else {}
    templates.add(spec, "env", templates.variables(role | unset | variables.of_launcher(job)))
    held = (host_files.HOSTFILE, host_files.DISCOVER, host_files.GIVEN) + (() if over_ssh else (host_files.KUBEXEC,))
    alike = templates.alike(spec)
    templates.mount(spec, _config_volume(job, held), launcher_pods.FILES)
    if over_ssh:
        _on_network(job, spec, name)
    else:
        spec["serviceAccountName"] = launcher_names.account(job)
        launcher_pods.deliver_kubectl(spec, KUBECTL_CONTAINER, KUBECTL_VOLUME, settings)
    waiting = launcher_pods.waiting(WAITING_CONTAINER, CONFIG_VOLUME, alike)
    spec["initContainers"] = [*(spec.get("initContainers") or ()), waiting]
    spec["affinity"] = placing.preferring_nodes_that_stay(spec.get("affinity"))
    spec["restartPolicy"] = RestartPolicy.NEVER.value  # a restarted launcher would run beside its old ranks
    first = {"training.kubeflow.org/replica-index": "0"} if over_ssh and job.own.launcher_is_host else {}
    labels = {**names.role(job, "launcher"), **first, **place(job, LAUNCHER)}
    pod = templates.pod(job, job.roles[LAUNCHER], name, labels, spec, settings)
    return _batch_job(job, pod) if job.own.mode.launcher_form is LauncherForm.BATCH_JOB else pod


def _batch_job(job: Job[MPI], pod: Mapping[str, Any]) -> Raw:
    """Has no TTL of its own: it is deleted with the MPIJob. If the Job were deleted while no operator runs, its success
    would be lost and the MPIJob would run a second time."""
    run = job.run
    limits = {
        "activeDeadlineSeconds": run.active_deadline_seconds,
        "backoffLimit": run.retries.by_launcher,
    }
    template = {name: pod["metadata"][name] for name in ("labels", "annotations")}
    spec: Raw = {name: value for name, value in limits.items() if value is not None}
    spec |= {"podReplacementPolicy": "Failed", "podFailurePolicy": _NOT_ITS_FAULT, "suspend": run.suspend}
    spec |= {"template": {"metadata": template, "spec": pod["spec"]}}
    metadata = named(job, launcher_names.launcher(job), labels=launcher_names.app(job))
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _config_volume(job: Job[MPI], keys: Sequence[str]) -> Raw:
    return launcher_pods.config_volume(CONFIG_VOLUME, launcher_names.config(job), keys)


def _on_network(job: Job[MPI], spec: Raw, name: str) -> None:
    spec |= {"hostname": name, "subdomain": job.metadata.name}
    if spec.get("hostNetwork"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    path = job.own.ssh_auth_mount_path
    templates.add_volume(spec, *ssh.volume(SSH_VOLUME, names.secret(job), path, spec))


def _search(job: Job[MPI], spec: Raw, settings: Settings) -> None:
    domain = settings.cluster_domain or "cluster.local"
    config = dict(spec.get("dnsConfig") or {})
    config["searches"] = [*(config.get("searches") or ()), f"{job.metadata.name}.{job.metadata.namespace}.svc.{domain}"]
    spec["dnsConfig"] = config
