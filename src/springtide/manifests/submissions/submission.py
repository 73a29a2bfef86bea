# SPDX-License-Identifier: Apache-2.0
"""What a user asks for with `submit`: one class per type of job, with the defaults of Arena's flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

Pairs = Mapping[str, str]
DEFAULT_SHARED_MEMORY: Final = "2Gi"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Whoever submits: written on the job's objects."""

    name: str
    id: str
    """The MD5 of the credentials, as Arena computes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """`--data CLAIM:/path`."""

    name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDirectory:
    """`--data-dir HOST[:CONTAINER]`."""

    host: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    key: str = ""
    value: str = ""
    effect: str = ""
    operator: str = "Exists"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """`--config-file LOCAL[:CONTAINER]`, read."""

    directory: str
    """The directory in the container."""
    name: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSync:
    mode: str
    """git or rsync."""
    source: str
    image: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorBoard:
    log_directory: str
    """The directory in the pods, or an address that TensorBoard reads."""
    image: str = ""
    """Empty: Arena's."""
    host_directory: str = ""
    """A directory of the host that nothing else uses, for logs that are on no claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SshKeys:
    """A pair of keys that only this job has."""

    private: bytes = field(repr=False)
    """PEM, of PKCS #1."""
    public: bytes
    """A line of authorized_keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """Requests and limits of one role besides GPUs. Empty: none."""

    cpu: str = ""
    memory: str = ""
    cpu_limit: str = ""
    memory_limit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """The flags of every type."""

    name: str
    namespace: str
    command: str
    user: User
    image: str = ""
    gpus: int = 0
    devices: Pairs = field(default_factory=dict)
    workers: int = 1
    retry: int = 0
    working_directory: str = "/root"
    variables: Pairs = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    host_directories: tuple[HostDirectory, ...] = ()
    annotations: Pairs = field(default_factory=dict)
    labels: Pairs = field(default_factory=dict)
    rdma: bool = False
    gang: bool = False
    priority: str = ""
    queue: bool = False
    """Submitted suspended, for a queue to start it."""
    tolerations: tuple[Toleration, ...] = ()
    node_selector: Pairs = field(default_factory=dict)
    config_files: tuple[ConfigFile, ...] = ()
    image_pull_secrets: tuple[str, ...] = ()
    image_pull_policy: str = "Always"
    shell: str = "sh"
    scheduler: str = ""
    host_network: bool = False
    host_ipc: bool = False
    host_pid: bool = False
    model_name: str = ""
    model_source: str = ""
    code_sync: CodeSync | None = None
    tensorboard: TensorBoard | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherJob(Submission):
    """A launcher that reaches its workers over SSH: what the types that become TrainingJobs have in common."""

    compute: Compute = field(default_factory=Compute)
    launcher_selector: Pairs = field(default_factory=dict)
    job_restart_policy: str = ""
    job_backoff_limit: int = 6
    ssh_secret: str = ""
    launcher_annotations: Pairs = field(default_factory=dict)
    worker_annotations: Pairs = field(default_factory=dict)
    ssh_keys: SshKeys | None = None
    """Made for the job's Secret, unless there is an ssh_secret. None: the operator makes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EtJob(LauncherJob):
    min_workers: int = 1
    max_workers: int = 1000
    spot_instance: bool = False
    max_wait_time: int = 0
    """Seconds; 0: without end."""
    worker_restart_policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepSpeedJob(LauncherJob):
    """Its number of workers is fixed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MpiJob(Submission):
    compute: Compute = field(default_factory=Compute)
    gpu_topology: bool = False
    mounts_on_launcher: bool = False
    clean_policy: str = "All"


@dataclass(frozen=True, slots=True, kw_only=True)
class PyTorchJob(Submission):
    compute: Compute = field(default_factory=Compute)
    clean_policy: str = "Running"
    running_timeout: int = 0
    ttl_after_finished: int = 0
    shared_memory: str = DEFAULT_SHARED_MEMORY
    processes_per_node: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How the pods of a role are placed relative to each other."""

    policy: str = "none"
    constraint: str = "preferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class TfRole:
    """What may differ between the roles of a TFJob."""

    image: str = ""
    port: int = 0
    """0: the first free one."""
    compute: Compute = field(default_factory=Compute)
    spread: Spread = field(default_factory=Spread)
    node_selector: Pairs = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TfJob(Submission):
    ps: int = 0
    ps_gpus: int = 0
    chief: bool = False
    evaluator: bool = False
    worker_role: TfRole = field(default_factory=TfRole)
    ps_role: TfRole = field(default_factory=TfRole)
    chief_role: TfRole = field(default_factory=TfRole)
    evaluator_role: TfRole = field(default_factory=TfRole)
    success_policy: str = "ChiefWorker"
    clean_policy: str = "Running"
    running_timeout: int = 0
    starting_timeout: int = 0
    ttl_after_finished: int = 0
    role_sequence: str = ""
    shared_memory: str = DEFAULT_SHARED_MEMORY
