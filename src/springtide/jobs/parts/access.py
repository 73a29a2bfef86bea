# SPDX-License-Identifier: Apache-2.0
"""What a launcher may do at the API server: run commands in its own workers, and report its progress on its own pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from springtide.api.job import Job
from springtide.jobs.kind import Hosts, Wanted
from springtide.jobs.objects import named

_RBAC: Final = "rbac.authorization.k8s.io"


def wanted(job: Job[Any], hosts: Hosts, launcher: str, account: str, labels: Mapping[str, str]) -> tuple[Wanted, ...]:
    """All under the launcher's name; `account` is the ServiceAccount that the launcher runs as."""

    def made(api_version: str, kind: str, **more: Any) -> dict[str, Any]:
        return {"apiVersion": api_version, "kind": kind, "metadata": named(job, launcher, labels=labels), **more}

    subject = {"kind": "ServiceAccount", "name": account, "namespace": job.metadata.namespace}
    role = {"apiGroup": _RBAC, "kind": "Role", "name": launcher}
    return (
        Wanted(made("v1", "ServiceAccount")),
        Wanted(made(f"{_RBAC}/v1", "Role", rules=rules(launcher, hosts)), kept=("rules",), grants=True),
        Wanted(made(f"{_RBAC}/v1", "RoleBinding", subjects=[subject], roleRef=role), kept=("subjects",)),
    )


def account(template: Mapping[str, Any], otherwise: str) -> str:
    """The user's own, where the template names one."""
    return str(template.get("spec", {}).get("serviceAccountName") or otherwise)


def rules(launcher: str, hosts: Hosts) -> list[dict[str, Any]]:
    """Exec is a GET over WebSockets and a POST over SPDY; newer servers ask for `create` in any case. A name is no
    proof of whose a pod is, so none is here that was not seen to be the job's own."""
    reach = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]}
    report = {"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]}
    return [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
        *([{**reach, "resourceNames": list(hosts.reachable)}] if hosts.reachable else []),
        *([{**report, "resourceNames": [launcher]}] if hosts.launcher_seen else []),
    ]
