# SPDX-License-Identifier: Apache-2.0
"""What Arena's own charts render for command lines, and the same command lines as submissions.

Each file below `rendered_by_arena` begins with a command line; hack/oracle/arena_manifests.py wrote the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from springtide.manifests.parts.objects import Obj
from springtide.manifests.submissions.submission import (
    Claim,
    CodeSync,
    Compute,
    DeepSpeedJob,
    EtJob,
    HostDirectory,
    MpiJob,
    PyTorchJob,
    Spread,
    SshKeys,
    Submission,
    TensorBoard,
    TfJob,
    TfRole,
    Toleration,
    User,
)

RENDERED: Final = Path(__file__).parent / "rendered_by_arena"
_LOGS: Final = "/arena_logs/training123456789"
_TOLERATION: Final = Toleration(key="gpu", value="yes", effect="NoSchedule", operator="Equal")
_BASE: Final = {
    "name": "mnist",
    "namespace": "default",
    "command": "python train.py --epochs 3",
    "user": User(name="kubernetes-admin", id="0123456789abcdef0123456789abcdef"),
    "image": "example.com/train:1",
}
Fields = dict[str, Any]

_GIT: Final = CodeSync(mode="git", source="https://example.com/me/code")
_ALL_TYPES: Final[dict[str, Fields]] = {
    "defaults": {},
    "gpus": {"gpus": 2, "devices": {"amd.com/gpu": "1"}},
    "variables": {"variables": {"A": "1", "B": "x,y", "C": "d=e"}},
    "labels": {
        "labels": {"team": "vision", "aliyun.com/gpu-count": "1"},
        "annotations": {"why": "test", "k8s.aliyun.com/eni": "true"},
        "host_network": True,
    },
    "scheduling": {
        "gang": True,
        "priority": "high",
        "queue": True,
        "tolerations": (_TOLERATION,),
        "node_selector": {"disk": "fast"},
        "scheduler": "volcano",
    },
    "toleration-all": {"tolerations": (Toleration(),)},
    "host": {"host_network": True, "host_ipc": True, "host_pid": True},
    "rdma": {"rdma": True, "gpus": 1},
    "images": {
        "image_pull_secrets": ("one", "two"),
        "image_pull_policy": "Never",
        "shell": "bash",
        "working_directory": "/work",
    },
    "storage": {
        "claims": (Claim(name="set-b", path="/data/b"), Claim(name="set-a", path="/data/a")),
        "host_directories": (
            HostDirectory(host="/mnt/host", path="/mnt/host"),
            HostDirectory(host="/mnt/other", path="/other"),
        ),
    },
    "model": {"model_name": "digits", "model_source": "s3://bucket/model"},
    "git": {
        "code_sync": CodeSync(mode="git", source="https://example.com/me/code.git"),
        "variables": {"GIT_SYNC_BRANCH": "dev"},
    },
    "rsync": {"code_sync": CodeSync(mode="rsync", source="10.0.0.1::code/train", image="example.com/rsync:1")},
    "tensorboard": {
        "tensorboard": TensorBoard(log_directory="/training_logs", host_directory=_LOGS),
        "tolerations": (_TOLERATION,),
        "priority": "high",
        "image_pull_secrets": ("one",),
    },
    "tensorboard-claim": {
        "tensorboard": TensorBoard(log_directory="/data/logs", image="example.com/tb:1", host_directory=_LOGS),
        "claims": (Claim(name="set", path="/data"),),
    },
    "tensorboard-elsewhere": {
        "tensorboard": TensorBoard(log_directory="s3://bucket/logs", host_directory=_LOGS),
    },
}

_OF_LAUNCHERS: Final[dict[str, Fields]] = {
    "compute": {"compute": Compute(cpu="500m", memory="1Gi"), "gpus": 1, "code_sync": _GIT},
    "own-annotations": {
        "annotations": {"why": "test"},
        "launcher_annotations": {"for": "launcher"},
        "worker_annotations": {"for": "worker"},
    },
    "selectors": {"node_selector": {"disk": "fast"}, "launcher_selector": {"zone": "b"}},
    "ssh-secret": {"ssh_secret": "keys"},
    "restarts": {"job_restart_policy": "OnFailure", "job_backoff_limit": 2},
    "no-restarts": {"job_backoff_limit": 0},
    "retry": {"retry": 3},
    "shared-gpu": {"devices": {"aliyun.com/gpu-mem": "4"}},
}
_TWO_ROLES: Final = {"workers": 2, "ps": 1}
_ALL_ROLES: Final = {"workers": 2, "ps": 1, "chief": True, "evaluator": True}
_OWN: Final[dict[type[Submission], dict[str, Fields]]] = {
    EtJob: {
        **_OF_LAUNCHERS,
        "bounds": {"min_workers": 2, "max_workers": 9, "gpus": 1},
        "spot": {"spot_instance": True, "max_wait_time": 600},
        "worker-restarts": {"worker_restart_policy": "ExitCode"},
    },
    DeepSpeedJob: {**_OF_LAUNCHERS, "nccl": {"variables": {"NCCL_ASYNC_ERROR_HANDLING": "0"}}},
    MpiJob: {
        "compute": _OF_LAUNCHERS["compute"],
        "retry": {"retry": 3},
        "topology": {"gpu_topology": True, "gpus": 2},
        "mounts": {
            "mounts_on_launcher": True,
            "claims": (Claim(name="set", path="/data"),),
            "host_directories": (HostDirectory(host="/mnt/host", path="/mnt/host"),),
        },
        "clean": {"clean_policy": "None"},
    },
    PyTorchJob: {
        "one": {"workers": 1},
        "timeouts": {"running_timeout": 8520, "ttl_after_finished": 90, "clean_policy": "None", "retry": 3},
        "compute": {"compute": Compute(cpu="500m", memory="1Gi"), "shared_memory": "512Mi", "code_sync": _GIT},
        "processes": {"processes_per_node": "gpu", "gpus": 4},
    },
    TfJob: {
        "standalone": {"workers": 1, "ps": 0, "gpus": 1},
        "two-roles": {},
        "all-roles": {**_ALL_ROLES, "ps": 2, "gpus": 1, "gang": True},
        "chief-alone": {"workers": 0, "ps": 0, "chief": True},
        "images-of-roles": {
            "worker_role": TfRole(image="example.com/worker:1"),
            "ps_role": TfRole(image="example.com/ps:1"),
        },
        "ports": {
            "chief": True,
            "worker_role": TfRole(port=3001),
            "ps_role": TfRole(port=3002),
            "chief_role": TfRole(port=3003),
        },
        "compute": {
            **_ALL_ROLES,
            "worker_role": TfRole(compute=Compute(cpu="1", memory="1Gi", cpu_limit="2", memory_limit="2Gi")),
            "ps_role": TfRole(compute=Compute(cpu="3", memory="3Gi")),
            "chief_role": TfRole(compute=Compute(cpu="4", memory_limit="4Gi")),
            "evaluator_role": TfRole(compute=Compute(cpu_limit="5", memory="5Gi")),
        },
        "compute-git": {
            **_ALL_ROLES,
            "ps_role": TfRole(compute=Compute(cpu="1", memory="1Gi", cpu_limit="2", memory_limit="2Gi")),
            "worker_role": TfRole(compute=Compute(cpu="1", cpu_limit="2")),
            "code_sync": _GIT,
        },
        "spread": {
            "worker_role": TfRole(spread=Spread(policy="spread")),
            "ps_role": TfRole(spread=Spread(policy="spread", constraint="required")),
        },
        "binpack": {
            "worker_role": TfRole(spread=Spread(policy="binpack", constraint="required")),
            "ps_role": TfRole(spread=Spread(policy="binpack")),
        },
        "other-constraints": {
            "worker_role": TfRole(spread=Spread(policy="spread", constraint="required")),
            "ps_role": TfRole(spread=Spread(policy="binpack", constraint="required")),
        },
        "binpack-workers": {"worker_role": TfRole(spread=Spread(policy="binpack"))},
        "spread-without-ps": {"ps": 0, "worker_role": TfRole(spread=Spread(policy="spread"))},
        "spread-ps": {"ps_role": TfRole(spread=Spread(policy="spread"))},
        "selectors": {
            **_ALL_ROLES,
            "node_selector": {"disk": "fast"},
            "worker_role": TfRole(node_selector={"role": "worker"}),
            "ps_role": TfRole(node_selector={"role": "ps", "zone": "a"}),
            "chief_role": TfRole(node_selector={"role": "chief"}),
        },
        "policies": {
            "success_policy": "AllWorkers",
            "clean_policy": "All",
            "running_timeout": 3600,
            "starting_timeout": 300,
            "ttl_after_finished": 60,
            "role_sequence": "w,Chief,p",
            "shared_memory": "4Gi",
            "retry": 2,
        },
        "default-success": {"ps": 0, "success_policy": "ChiefWorker"},
        "ps-gpus": {"ps_gpus": 1},
        "tensorboard-roles": {
            **_ALL_ROLES,
            "tensorboard": TensorBoard(log_directory="/training_logs", host_directory=_LOGS),
        },
        "storage-roles": {
            **_ALL_ROLES,
            "claims": (Claim(name="set", path="/data"),),
            "host_directories": (HostDirectory(host="/mnt/host", path="/mnt/host"),),
            "rdma": True,
            "gpus": 1,
        },
    },
}
_KEYS: Final = SshKeys(private=b"key", public=b"key")
_LAUNCHED: Final[Fields] = {"workers": 3, "ssh_keys": _KEYS}
_SIZES: Final[dict[type[Submission], Fields]] = {
    EtJob: _LAUNCHED,
    DeepSpeedJob: _LAUNCHED,
    MpiJob: {"workers": 3},
    PyTorchJob: {"workers": 3},
    TfJob: _TWO_ROLES,
}


def submissions(kind: type[Any]) -> dict[str, Any]:
    """By the names of their files."""
    return {name: kind(**_BASE | _SIZES[kind] | fields) for name, fields in (_ALL_TYPES | _OWN[kind]).items()}


def rendered(type_of_job: str, name: str) -> list[Obj]:
    """The objects that Arena creates, in its order."""
    _, *objects = yaml.safe_load_all((RENDERED / type_of_job / f"{name}.yaml").read_text())
    return [plain(each) for each in objects]


def recorded(type_of_job: str) -> Iterator[str]:
    return (file.stem for file in sorted((RENDERED / type_of_job).glob("*.yaml")))


def plain(value: Any, name: str = "") -> Any:
    """Without fields that have no value, and with lists of named parts in the order of their names."""
    if isinstance(value, dict):
        fields = {key: plain(part, key) for key, part in value.items()}
        return {key: part for key, part in fields.items() if part not in (None, {}, [])}
    if isinstance(value, list):
        listed = [plain(part) for part in value]
        return sorted(listed, key=lambda part: part["name"]) if name in _BY_NAME else listed
    return value


_BY_NAME: Final = ("env", "volumes", "volumeMounts")


def differing(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """The paths of all values that differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            yield from differing(ours.get(key), theirs.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for our, their in zip(ours, theirs, strict=True):
            yield from differing(our, their, path)
    elif ours != theirs:
        yield path


def differing_objects(ours: list[Obj], theirs: list[Obj]) -> list[str]:
    """The kinds and paths of all values that differ, of objects of the same kinds."""
    assert [each["kind"] for each in ours] == [each["kind"] for each in theirs]
    pairs = zip(ours, theirs, strict=True)
    return [f"{our['kind']} {path}" for our, their in pairs for path in differing(plain(our), plain(their))]
