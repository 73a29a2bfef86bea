# SPDX-License-Identifier: Apache-2.0
"""A launcher's rights: run commands in its own workers, and report progress on its own pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from springtide.api.job import Job
from springtide.jobs.kind import Hosts, Wanted
from springtide.jobs.objects import named

_RBAC: Final = "rbac.authorization.k8s.io"


def wanted(job: Job[Any], hosts: Hosts, launcher: str, account: str, labels: Mapping[str, str]) -> tuple[Wanted, ...]:
    """All objects have the launcher's name; `account` is the ServiceAccount that the launcher runs as."""

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
    """The ServiceAccount of the template, otherwise `otherwise`."""
    return str(template.get("spec", {}).get("serviceAccountName") or otherwise)


def rules(launcher: str, hosts: Hosts) -> list[dict[str, Any]]:
    """Exec is a GET over WebSockets and a POST over SPDY; newer API servers require `create` for both. A name does not
    prove ownership, so only pods observed to belong to the job are listed."""
    reach = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]}
    report = {"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]}
    return [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
        *([{**reach, "resourceNames": list(hosts.reachable)}] if hosts.reachable else []),
        *([{**report, "resourceNames": [launcher]}] if hosts.launcher_seen else []),
    ]
