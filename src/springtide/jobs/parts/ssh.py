# SPDX-License-Identifier: Apache-2.0
"""The SSH key pair that all pods of a job share."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from springtide.api.job import Job
from springtide.api.kinds.attach_mode import SSH_AUTH_MOUNT_PATH
from springtide.jobs.actions import Secrets
from springtide.jobs.kind import Wanted
from springtide.jobs.objects import named

PRIVATE, PUBLIC = "ssh-privatekey", "ssh-publickey"


def secret(job: Job[Any], name: str, labels: Mapping[str, str]) -> Wanted:
    metadata = named(job, name, labels=labels)
    manifest = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/ssh-auth", "metadata": metadata}
    return Wanted(manifest, secrets=Secrets.SSH_KEYS, keys=(PRIVATE, PUBLIC))


def with_keys(secret: Mapping[str, Any], private: bytes, public: bytes) -> dict[str, Any]:
    """The Secret with a key pair (PEM, and a line of authorized_keys). The caller generates the keys, because that
    needs randomness."""
    data = {PRIVATE: base64.b64encode(private).decode(), PUBLIC: base64.b64encode(public).decode()}
    return {**secret, "data": data}


def volume(name: str, secret: str, path: str, spec: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The volume for a pod with this spec, and its mount in the first container."""
    items = [
        {"key": PRIVATE, "path": "id_rsa"},
        {"key": PUBLIC, "path": "id_rsa.pub"},
        {"key": PUBLIC, "path": "authorized_keys"},
    ]
    mode = _mode(path, spec)
    source = {"secretName": secret, "items": items, **({} if mode is None else {"defaultMode": mode})}
    return {"name": name, "secret": source}, {"name": name, "mountPath": path}


def _mode(path: str, spec: Mapping[str, Any]) -> int | None:
    """Key files belong to root: root's own must be readable by root only. Other users read them by the pod's
    group, otherwise with Kubernetes' default mode, which is upstream's too."""
    pod, first = spec.get("securityContext") or {}, spec["containers"][0].get("securityContext") or {}
    user = first.get("runAsUser", pod.get("runAsUser"))
    if path == SSH_AUTH_MOUNT_PATH and not user:
        return 0o600
    return 0o440 if "fsGroup" in pod else None
