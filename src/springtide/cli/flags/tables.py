# SPDX-License-Identifier: Apache-2.0
"""The flags of `submit`, per type of job, each with the field of the submission that it sets.

A field with dots is one of a part: `compute.cpu` makes a `Compute`. How a flag's text becomes the field's value is in
`submissions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from springtide.cli.flags.pflag import Flag, Kind
from springtide.manifests.submissions.submission import DeepSpeedJob, EtJob, MpiJob, PyTorchJob, Submission, TfJob

STRING, INT, BOOL, DURATION, STRINGS = Kind.STRING, Kind.INT, Kind.BOOL, Kind.DURATION, Kind.STRINGS
_KEY_VALUE: Final = "KEY=VALUE; may be repeated"


@dataclass(frozen=True, slots=True)
class SubmitFlag(Flag):
    field: str = ""
    """Empty: the name, with `_` for `-`."""

    @property
    def target(self) -> str:
        return self.field or self.name.replace("-", "_")


def _selector(role: str) -> SubmitFlag:
    return SubmitFlag(
        f"{role}-selector",
        STRINGS,
        f"label of the nodes for {role} pods, instead of --selector: {_KEY_VALUE}",
        field=f"{role}_role.node_selector",
    )


def _compute(role: str, old: str) -> tuple[SubmitFlag, ...]:
    """Requests and limits of one role of a TFJob; `old` is its name in deprecated flags."""
    shown = "parameter server" if role == "ps" else role
    field = f"{role}_role.compute"
    return (
        SubmitFlag(f"{role}-cpu", STRING, f"CPUs of the {shown}, as 1 or 500m", old_names=(f"{old}Cpu",),
                   field=f"{field}.cpu"),
        SubmitFlag(f"{role}-cpu-limit", STRING, f"most CPUs of the {shown}; without it --{role}-cpu",
                   field=f"{field}.cpu_limit"),
        SubmitFlag(f"{role}-memory", STRING, f"memory of the {shown}, as 1Gi", old_names=(f"{old}Memory",),
                   field=f"{field}.memory"),
        SubmitFlag(f"{role}-memory-limit", STRING, f"most memory of the {shown}; without it --{role}-memory",
                   field=f"{field}.memory_limit"),
    )  # fmt: skip


def _spread(role: str) -> tuple[SubmitFlag, ...]:
    return (
        SubmitFlag(f"{role}-affinity-policy", STRING, f"how {role} pods are placed: none, spread or binpack",
                   default="none", field=f"{role}_role.spread.policy"),
        SubmitFlag(f"{role}-affinity-constraint", STRING, "whether that is preferred or required", default="preferred",
                   field=f"{role}_role.spread.constraint"),
    )  # fmt: skip


COMMON: Final = (
    SubmitFlag("name", STRING, "name of the job", required=True),
    SubmitFlag("image", STRING, "container image"),
    SubmitFlag("gpus", INT, "GPUs of each worker"),
    SubmitFlag("device", STRINGS, f"other devices of each worker, as amd.com/gpu=1: {_KEY_VALUE}", field="devices"),
    SubmitFlag("workers", INT, "number of workers", default=1),
    SubmitFlag("retry", INT, "how often a failed job is started again"),
    SubmitFlag("working-dir", STRING, "directory that the command runs in; synced code is in its directory code",
               default="/root", old_names=("workingDir",), field="working_directory"),
    SubmitFlag("env", STRINGS, f"environment variable: {_KEY_VALUE}", short="e", field="variables"),
    SubmitFlag("data", STRINGS, "claim to mount, CLAIM:/PATH; may be repeated", short="d", field="claims"),
    SubmitFlag("data-dir", STRINGS, "directory of the host to mount, HOST[:CONTAINER]; may be repeated",
               old_names=("dataDir",), field="host_directories"),
    SubmitFlag("annotation", STRINGS, f"annotation: {_KEY_VALUE}", short="a", field="annotations"),
    SubmitFlag("label", STRINGS, f"label: {_KEY_VALUE}", short="l", field="labels"),
    SubmitFlag("rdma", BOOL, "use RDMA"),
    SubmitFlag("gang", BOOL, "schedule all pods at once or none"),
    SubmitFlag("priority", STRING, "name of a PriorityClass", short="p"),
    SubmitFlag("queue", BOOL, "submit the job suspended, for a queue to start it"),
    SubmitFlag("toleration", STRINGS, "taint to tolerate, KEY=VALUE:EFFECT,OPERATOR or all; may be repeated",
               field="tolerations"),
    SubmitFlag("selector", STRINGS, f"label of the nodes to run on: {_KEY_VALUE}", field="node_selector"),
    SubmitFlag("config-file", STRINGS, "file to put into the containers, LOCAL[:CONTAINER]; may be repeated",
               field="config_files"),
    SubmitFlag("image-pull-secret", STRINGS, "secret of a private registry; may be repeated",
               field="image_pull_secrets"),
    SubmitFlag("image-pull-policy", STRING, "when images are pulled: Always, IfNotPresent or Never", default="Always"),
    SubmitFlag("shell", STRING, "shell that runs the command: sh or bash", default="sh"),
    SubmitFlag("scheduler", STRING, "name of the scheduler"),
    SubmitFlag("hostNetwork", BOOL, "use the host's network", field="host_network"),
    SubmitFlag("hostIPC", BOOL, "use the host's IPC namespace", field="host_ipc"),
    SubmitFlag("hostPID", BOOL, "use the host's PID namespace", field="host_pid"),
    SubmitFlag("model-name", STRING, "name of the model that is trained"),
    SubmitFlag("model-source", STRING, "address of the model that is trained"),
    SubmitFlag("sync-mode", STRING, "how code is fetched before the job starts: git or rsync",
               old_names=("syncMode",), field="code_sync.mode"),
    SubmitFlag("sync-source", STRING, "where code is fetched from", old_names=("syncSource",),
               field="code_sync.source"),
    SubmitFlag("sync-image", STRING, "container image that fetches code", old_names=("syncImage",),
               field="code_sync.image"),
    SubmitFlag("tensorboard", BOOL, "show --logdir in a TensorBoard"),
    SubmitFlag("tensorboard-image", STRING, "container image of the TensorBoard", old_names=("tensorboardImage",),
               field="tensorboard.image"),
    SubmitFlag("logdir", STRING, "directory of the TensorBoard's logs", default="/training_logs",
               field="tensorboard.log_directory"),
)  # fmt: skip

_CPU_AND_MEMORY: Final = (
    SubmitFlag("cpu", STRING, "CPUs of each pod, as 1 or 500m", field="compute.cpu"),
    SubmitFlag("memory", STRING, "memory of each pod, as 1Gi", field="compute.memory"),
)
_LAUNCHED: Final = (
    *_CPU_AND_MEMORY,
    SubmitFlag("launcher-selector", STRINGS, f"label of the launcher's node: {_KEY_VALUE}"),
    SubmitFlag("job-restart-policy", STRING, "whether a failed launcher starts again: Never or OnFailure"),
    SubmitFlag("job-backoff-limit", INT, "how often the job may fail before it is given up", default=6),
    SubmitFlag("ssh-secret", STRING, "secret with SSH keys, instead of new ones"),
    SubmitFlag("launcher-annotation", STRINGS, f"annotation of the launcher: {_KEY_VALUE}",
               field="launcher_annotations"),
    SubmitFlag("worker-annotation", STRINGS, f"annotation of workers: {_KEY_VALUE}", field="worker_annotations"),
)  # fmt: skip
_ET: Final = (
    *_LAUNCHED,
    SubmitFlag("max-workers", INT, "most workers", default=1000),
    SubmitFlag("min-workers", INT, "fewest workers", default=1),
    SubmitFlag("spot-instance", BOOL, "the job may run on nodes that can be taken away"),
    SubmitFlag("max-wait-time", INT, "seconds after which a job that cannot start fails; 0: never"),
    SubmitFlag("worker-restart-policy", STRING,
               "when a worker's container starts again: Never, OnFailure, Always or ExitCode"),
)  # fmt: skip
_MPI: Final = (
    *_CPU_AND_MEMORY,
    SubmitFlag("gputopology", BOOL, "place workers by the connections of GPUs", field="gpu_topology"),
    SubmitFlag("mounts-on-launcher", BOOL, "mount data in the launcher, too"),
    SubmitFlag("clean-task-policy", STRING, "which pods are deleted at the end: None, Running or All", default="All",
               field="clean_policy"),
)  # fmt: skip
_ENDS: Final = (
    SubmitFlag("running-timeout", DURATION, "how long the job may run, as 5s, 1m, 2h22m; 0: without end"),
    SubmitFlag("ttl-after-finished", DURATION, "how long the finished job is kept, as 5s, 1m, 2h22m; 0: without end"),
    SubmitFlag("share-memory", STRING, "size of /dev/shm", default="2Gi", field="shared_memory"),
)
_PYTORCH: Final = (
    *_CPU_AND_MEMORY,
    *_ENDS,
    SubmitFlag("clean-task-policy", STRING, "which pods are deleted at the end: None, Running or All",
               default="Running", field="clean_policy"),
    SubmitFlag("nproc-per-node", STRING, "processes per pod: auto, cpu, gpu or a number", field="processes_per_node"),
)  # fmt: skip
_TF: Final = (
    *_ENDS,
    SubmitFlag("clean-task-policy", STRING, "which pods are deleted at the end: None, Running or All",
               default="Running", old_names=("cleanTaskPolicy",), field="clean_policy"),
    SubmitFlag("starting-timeout", DURATION, "how long the job may wait before it starts; 0: without end"),
    SubmitFlag("ps", INT, "number of parameter servers"),
    SubmitFlag("ps-gpus", INT, "GPUs of each parameter server"),
    SubmitFlag("chief", BOOL, "run a chief"),
    SubmitFlag("evaluator", BOOL, "run an evaluator"),
    SubmitFlag("worker-image", STRING, "container image of workers", old_names=("workerImage",),
               field="worker_role.image"),
    SubmitFlag("ps-image", STRING, "container image of parameter servers", old_names=("psImage",),
               field="ps_role.image"),
    SubmitFlag("worker-port", INT, "port of workers; 0: a free one", old_names=("workerPort",),
               field="worker_role.port"),
    SubmitFlag("ps-port", INT, "port of parameter servers; 0: a free one", old_names=("psPort",),
               field="ps_role.port"),
    SubmitFlag("chief-port", INT, "port of the chief; 0: a free one", old_names=("chiefPort",),
               field="chief_role.port"),
    *_compute("worker", "worker"),
    *_compute("ps", "ps"),
    *_compute("chief", "Chief"),
    *_compute("evaluator", "evaluator"),
    *_spread("worker"),
    *_spread("ps"),
    *(_selector(role) for role in ("worker", "ps", "chief", "evaluator")),
    SubmitFlag("success-policy", STRING, "when the job has succeeded: ChiefWorker or AllWorkers",
               default="ChiefWorker"),
    SubmitFlag("role-sequence", STRING, 'order in which roles start, as "Worker,PS,Chief,Evaluator" or "w,p,c,e"'),
)  # fmt: skip

FLAGS: Final[dict[type[Submission], tuple[SubmitFlag, ...]]] = {
    EtJob: (*COMMON, *_ET),
    DeepSpeedJob: (*COMMON, *_LAUNCHED),
    MpiJob: (*COMMON, *_MPI),
    PyTorchJob: (*COMMON, *_PYTORCH),
    TfJob: (*COMMON, *_TF),
}
