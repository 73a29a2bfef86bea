# SPDX-License-Identifier: Apache-2.0
"""What a launcher may do at the API server: run commands in its own workers, and say of itself how far it is."""

from __future__ import annotations

from typing import Any, Final

from springtide.api.defaults.mpijob import MPI
from springtide.api.job import Job
from springtide.api.kinds.replicas import LAUNCHER
from springtide.jobs.kind import Hosts, Wanted
from springtide.jobs.kinds.mpi import names
from springtide.jobs.objects import named

_RBAC: Final = "rbac.authorization.k8s.io"


def wanted(job: Job[MPI], hosts: Hosts) -> tuple[Wanted, ...]:
    return (
        Wanted(_object(job, "v1", "ServiceAccount")),
        Wanted(_object(job, f"{_RBAC}/v1", "Role", rules=rules(job, hosts)), kept=("rules",), grants=True),
        Wanted(_object(job, f"{_RBAC}/v1", "RoleBinding", **_bound(job)), kept=("subjects",)),
    )


def account(job: Job[MPI]) -> str:
    """The user's own, where the template names one."""
    given = job.roles[LAUNCHER].template.get("spec", {}).get("serviceAccountName")
    return str(given or names.launcher(job))


def rules(job: Job[MPI], hosts: Hosts) -> list[dict[str, Any]]:
    """Exec is a GET over WebSockets and a POST over SPDY; newer servers ask for `create` in any case. A name is no
    proof of whose a pod is, so none is here that was not seen to be the job's own."""
    reach = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]}
    speak = {"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]}
    return [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
        *([{**reach, "resourceNames": list(hosts.reachable)}] if hosts.reachable else []),
        *([{**speak, "resourceNames": [names.launcher(job)]}] if hosts.launcher_seen else []),
    ]


def _bound(job: Job[MPI]) -> dict[str, Any]:
    subject = {"kind": "ServiceAccount", "name": account(job), "namespace": job.metadata.namespace}
    return {
        "subjects": [subject],
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": names.launcher(job)},
    }


def _object(job: Job[MPI], api_version: str, kind: str, **more: Any) -> dict[str, Any]:
    metadata = named(job, names.launcher(job), labels=names.app(job))
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}
