# SPDX-License-Identifier: Apache-2.0
"""The SSH key pair that all pods of a job share.

A Secret of Kubernetes' type for SSH has the keys under the names that this type prescribes; et-operator's is opaque and
has the files of an `.ssh` folder, with a configuration of the client.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from springtide.api.job import Job
from springtide.api.kinds.attach_mode import SSH_AUTH_MOUNT_PATH
from springtide.jobs.actions import Secrets
from springtide.jobs.kind import Wanted
from springtide.jobs.objects import named

PRIVATE, PUBLIC = "ssh-privatekey", "ssh-publickey"
CONFIG, PRIVATE_FILE, PUBLIC_FILE = "config", "id_rsa", "id_rsa.pub"
_OPAQUE: Final = "Opaque"
_ATTEMPTS: Final = "ConnectionAttempts 10"
"""A worker's sshd may be slow to start, or its name slow to resolve."""
_CLIENT: Final = f"""\
Host *
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    {_ATTEMPTS}
    LogLevel ERROR
"""
"""Errors only: otherwise each connection would print that its host was added to the known hosts."""


def secret(job: Job[Any], name: str, labels: Mapping[str, str]) -> Wanted:
    metadata = named(job, name, labels=labels)
    manifest = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/ssh-auth", "metadata": metadata}
    return Wanted(manifest, secrets=Secrets.SSH_KEYS, keys=(PRIVATE, PUBLIC))


def secret_of_files(job: Job[Any], name: str, labels: Mapping[str, str]) -> Wanted:
    """A Secret of this name that exists already is used: clients of et-operator make it before the job. That grants
    nothing to those who made the job, because users who may create jobs make pods, and pods may mount any Secret of
    their namespace; nor is it changed or deleted."""
    data = {CONFIG: base64.b64encode(_CLIENT.encode()).decode()}
    manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": _OPAQUE,
        "metadata": named(job, name, labels=labels),
        "data": data,
    }
    return Wanted(manifest, secrets=Secrets.SSH_KEYS, keys=(CONFIG, PRIVATE_FILE, PUBLIC_FILE), shared=True)


def with_keys(secret: Mapping[str, Any], private: bytes, public: bytes) -> dict[str, Any]:
    """The Secret with a key pair (PEM, and a line of authorized_keys). The caller generates the keys, because that
    needs randomness."""
    names = (PRIVATE_FILE, PUBLIC_FILE) if secret.get("type") == _OPAQUE else (PRIVATE, PUBLIC)
    pair = (base64.b64encode(key).decode() for key in (private, public))
    return {**secret, "data": {**(secret.get("data") or {}), **dict(zip(names, pair, strict=True))}}


def client_of_ordinary_user(keys: str) -> str:
    """The machine-wide configuration of the client of a user who is not root, with the keys in this folder: it logs in
    as root, whose sshd the workers run. What the Secret configures takes precedence."""
    return (
        "IgnoreUnknown Include\n"  # OpenSSH before 7.3
        f"Include {keys}/{CONFIG}\n"
        f"{_CLIENT}"
        "    User root\n"
        f"    IdentityFile {keys}/{PRIVATE_FILE}\n"
    )


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
    if path == SSH_AUTH_MOUNT_PATH and not _user(spec, spec["containers"][0]):
        return 0o600
    return 0o440 if "fsGroup" in (spec.get("securityContext") or {}) else None


def is_root(spec: Mapping[str, Any], container: Mapping[str, Any]) -> bool:
    """Whether a container may run as root: a user that only its image names is not known."""
    contexts = (container.get("securityContext") or {}, spec.get("securityContext") or {})
    strict = next((each["runAsNonRoot"] for each in contexts if each.get("runAsNonRoot") is not None), False)
    return not _user(spec, container) and not strict


def _user(spec: Mapping[str, Any], container: Mapping[str, Any]) -> int | None:
    pod, own = spec.get("securityContext") or {}, container.get("securityContext") or {}
    user: int | None = own.get("runAsUser", pod.get("runAsUser"))
    return user
