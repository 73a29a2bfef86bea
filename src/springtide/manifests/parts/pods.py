# SPDX-License-Identifier: Apache-2.0
"""The pod template of every role of every type of job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from springtide.manifests.kinds import tensorboard
from springtide.manifests.parts import code_sync, environment_variables, labels, scheduling, volumes
from springtide.manifests.parts.objects import Obj, filled
from springtide.manifests.parts.volumes import Mounted
from springtide.manifests.submissions.submission import Compute, Pairs, Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """What the pods of a role have of their own."""

    container: str
    """The container's name."""
    runs_command: bool = True
    """Otherwise the container runs what its image or the operator says."""
    image: str = ""
    """Empty: the job's."""
    gpus: int | None = None
    """What a container of this role requests, if it differs from the workers."""
    resources: Obj = field(default_factory=dict)
    init_compute: Compute = field(default_factory=Compute)
    """The resources of the container that fetches the code."""
    variables: Pairs = field(default_factory=dict)
    """Variables that the user cannot choose, beside those of all types."""
    labels: Pairs = field(default_factory=dict)
    annotations: Pairs = field(default_factory=dict)
    """All annotations."""
    node_selector: Pairs = field(default_factory=dict)
    affinity: Obj = field(default_factory=dict)
    host_network: bool = False
    """Even if the user does not ask for it."""
    restart_policy: str = ""
    ports: tuple[Obj, ...] = ()
    shared_memory: str = ""
    mounts_claims: bool = True
    writes_logs: bool = True
    """Whether TensorBoard's directory is mounted."""


def template(submission: Submission, role: Role) -> Obj:
    metadata = {
        "name": submission.name,
        "labels": {**labels.job_labels(submission), **role.labels},
        "annotations": dict(role.annotations),
    }
    return {"metadata": metadata, "spec": _spec(submission, role)}


def _spec(submission: Submission, role: Role) -> Obj:
    mounted = _mounted(submission, role)
    variables = environment_variables.variables(submission, role.variables, role.gpus)
    return {
        **scheduling.placement(submission, role.node_selector, role.host_network),
        **filled(
            affinity=role.affinity,
            restartPolicy=role.restart_policy,
            imagePullSecrets=[{"name": name} for name in submission.image_pull_secrets],
            initContainers=code_sync.init_containers(submission, variables, role.init_compute),
            volumes=[each.volume for each in mounted],
        ),
        "containers": [_container(submission, role, variables, mounted)],
    }


def _container(submission: Submission, role: Role, variables: Mapping[str, str], mounted: list[Mounted]) -> Obj:
    return {
        "name": role.container,
        **filled(
            image=role.image or submission.image,
            imagePullPolicy=submission.image_pull_policy,
            workingDir=submission.working_directory,
            command=command(submission) if role.runs_command else [],
            resources=role.resources,
            ports=list(role.ports),
            securityContext={"capabilities": {"add": ["IPC_LOCK"]}} if submission.rdma else {},
            volumeMounts=[each.mount for each in mounted],
        ),
        "env": environment_variables.as_list(variables),
    }


def command(submission: Submission) -> list[str]:
    """The user's text is one argument of the shell: no other program ever parses it."""
    return [submission.shell, "-c", submission.command]


def _mounted(submission: Submission, role: Role) -> list[Mounted]:
    return [
        *volumes.config_files(submission),
        *(tensorboard.volumes(submission) if role.writes_logs else ()),
        *code_sync.volumes(submission),
        *(volumes.claims(submission) if role.mounts_claims else ()),
        *volumes.host_directories(submission),
        *volumes.shared_memory(role.shared_memory),
    ]
