# SPDX-License-Identifier: Apache-2.0
"""The environment variables by which PyTorch, and torchrun, find the other replicas.

MASTER_ADDR, WORLD_SIZE, RANK ...   read by torch.distributed, where there is a master
PET_*                               read by torchrun, as its options
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from springtide.api.defaults.pytorchjob import Torch
from springtide.api.job import Job
from springtide.api.kinds.pytorchjob import CONTAINER, PORT, PORT_NAME, Backend, TorchElasticPolicy
from springtide.api.kinds.replicas import MASTER, WORKER
from springtide.jobs.parts import named_replicas
from springtide.jobs.parts.named_replicas import Naming

NAMING: Final = Naming("pytorchjob-controller", CONTAINER, PORT_NAME, PORT)
RESTARTS: Final = 30
"""torchrun's own default 0 ends the job when a peer leaves, because the ranks that lost it fail."""


def of_replica(job: Job[Torch], role: str, index: int) -> dict[str, str]:
    """In upstream's order; they override the user's."""
    found = {"PYTHONUNBUFFERED": "1"} | (_of_master(job, role, index) if MASTER in job.roles else {})
    if job.own.processes:
        found["PET_NPROC_PER_NODE"] = job.own.processes
    policy = job.own.policy
    return found | ({"PET_NNODES": str(_replicas(job))} if policy is None else _elastic(job, policy))


def if_unset(job: Job[Torch]) -> dict[str, str]:
    """What an elastic job needs unless the user says otherwise. PyTorch 2.15 does not go on when a third agent joins
    unless each generation has a store of its own."""
    if job.elastic is None:
        return {}
    return {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "PET_MAX_RESTARTS": str(RESTARTS)}


def _of_master(job: Job[Torch], role: str, index: int) -> dict[str, str]:
    """WORLD_SIZE counts processes; RANK is that of a node, as upstream has it."""
    port, host = str(named_replicas.port(NAMING, job, MASTER)), named_replicas.name(job, MASTER, 0)
    processes = int(job.own.processes) if job.own.processes.isdigit() else 1
    rank = "0" if role == MASTER else str(index + 1)
    return {
        "MASTER_PORT": port,
        "PET_MASTER_PORT": port,
        "MASTER_ADDR": host,
        "PET_MASTER_ADDR": host,
        "WORLD_SIZE": str(_replicas(job) * processes),
        "RANK": rank,
        "PET_NODE_RANK": rank,
    }


def _elastic(job: Job[Torch], policy: TorchElasticPolicy) -> dict[str, str]:
    host = policy.rdzv_host or named_replicas.name(job, WORKER, 0)
    port = policy.rdzv_port or named_replicas.port(NAMING, job, WORKER)
    found: Mapping[str, str | None] = {
        "PET_RDZV_ENDPOINT": f"{host}:{port}",
        "PET_RDZV_BACKEND": policy.rdzv_backend or Backend.C10D.value,
        "PET_NNODES": _nodes(job),
        "PET_MAX_RESTARTS": _number(policy.max_restarts),
        "PET_NPROC_PER_NODE": _number(policy.n_proc_per_node),
        "PET_RDZV_ID": policy.rdzv_id,
        "PET_RDZV_CONF": ",".join(f"{each.key}={each.value}" for each in policy.rdzv_conf or ()) or None,
        "PET_STANDALONE": "" if policy.standalone else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _nodes(job: Job[Torch]) -> str:
    """The bounds count workers; the master is one more node, which upstream forgets."""
    bounds, others = job.elastic, 1 if MASTER in job.roles else 0
    least, most = (bounds.min_replicas, bounds.max_replicas) if bounds is not None else (None, None)
    return f"{(least or 1) + others}:{(most or 1) + others}"


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)


def _replicas(job: Job[Torch]) -> int:
    return sum(role.replicas for role in job.roles.values())
