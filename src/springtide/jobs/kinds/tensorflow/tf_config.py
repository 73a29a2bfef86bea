# SPDX-License-Identifier: Apache-2.0
"""TF_CONFIG: how a replica learns the addresses of the others, byte for byte as upstream writes it."""

from __future__ import annotations

import json
from typing import Any, Final

from springtide.api.defaults.tfjob import TF
from springtide.api.job import Job
from springtide.api.kinds.replicas import PS, WORKER
from springtide.api.kinds.tfjob import CONTAINER, PORT, PORT_NAME
from springtide.jobs.observed import Settings
from springtide.jobs.parts import named_replicas
from springtide.jobs.parts.named_replicas import Naming

NAMING: Final = Naming("tfjob-controller", CONTAINER, PORT_NAME, PORT)


def tf_config(job: Job[TF], role: str, index: int, settings: Settings) -> str:
    """Empty for a lone replica, which needs none. Dynamic workers get the sparse form."""
    if sum(each.replicas for each in job.roles.values()) == 1:
        return ""
    cluster = {name.lower(): _addresses(job, name, settings) for name in sorted(job.roles, key=str.lower)}
    task = {"type": role.lower(), "index": index}
    if job.elastic is not None:
        return _json({"cluster": _sparse(job, role, index, settings), "task": task})
    return _json({"cluster": cluster, "task": task, "environment": "cloud"})


def _sparse(job: Job[TF], role: str, index: int, settings: Settings) -> dict[str, Any]:
    """A worker knows itself and all PS, a PS itself alone. A chief, a master and an evaluator know themselves and all
    PS; upstream gives them nothing."""
    own = _address(job, role, index, settings)
    servers = _addresses(job, PS, settings) if PS in job.roles else None
    if role == WORKER:
        return {"worker": {str(index): own}, "ps": servers}
    if role == PS:
        return {"worker": {}, "ps": [own]}
    return {role.lower(): [own], "worker": {}, "ps": servers}


def _addresses(job: Job[TF], role: str, settings: Settings) -> list[str]:
    port, domain = named_replicas.port(NAMING, job, role), settings.cluster_domain
    return [named_replicas.address(job, role, index, port, domain) for index in range(job.roles[role].replicas)]


def _address(job: Job[TF], role: str, index: int, settings: Settings) -> str:
    port = named_replicas.port(NAMING, job, role)
    return named_replicas.address(job, role, index, port, settings.cluster_domain)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
