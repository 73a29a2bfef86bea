# SPDX-License-Identifier: Apache-2.0
"""ServiceAccount: sets every pod's service account, and mounts its token, CA and namespace at a well-known path."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final

from springtide.api.mirror_pods import is_mirror
from springtide.local.admission.request import CREATE, AdmissionRequest, Obj, Reader, forbidden_early

MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME_PREFIX: Final = "kube-api-access-"
TOKEN_SECONDS: Final = 3607  # an hour and 7 s: the odd number identifies the default projection

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_ATTEMPTS: Final = 10
_PAUSE: Final = 0.1


def random_suffix() -> str:
    return "".join(random.choices(_LETTERS, k=5))


class ServiceAccounts:
    def __init__(
        self,
        reader: Reader,
        suffix: Callable[[], str] = random_suffix,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._reader = reader
        self._suffix = suffix
        self._sleep = sleep

    def handles(self, operation: str, storage: str, subresource: str) -> bool:
        return operation == CREATE and storage == "pods" and not subresource

    async def admit(self, request: AdmissionRequest) -> None:
        pod = request.object()
        spec = pod["spec"]
        if is_mirror(pod):
            _check_mirror(request, spec)
            return
        name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
        account = await self._account(request.namespace, name)
        if account is None:
            why = f'error looking up service account {request.namespace}/{name}: serviceaccount "{name}" not found'
            raise forbidden_early(request, why)
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        if _automounts(spec, account):
            _mount_token(spec, self._suffix)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": secret["name"]} for secret in account["imagePullSecrets"]]

    async def _account(self, namespace: str, name: str) -> Obj | None:
        """The service account; waits for `default`, which a controller creates shortly after the namespace."""
        account = self._reader.get("serviceaccounts", namespace, name)
        for _ in range(_ATTEMPTS if name == "default" else 0):
            if account is not None:
                break
            await self._sleep(_PAUSE)
            account = self._reader.get("serviceaccounts", namespace, name)
        return account


def _check_mirror(request: AdmissionRequest, spec: Obj) -> None:
    """A mirror pod represents a static pod of a kubelet; it must not give access to secrets."""
    if spec.get("serviceAccountName"):
        raise forbidden_early(request, "a mirror pod may not reference service accounts")
    volumes = spec.get("volumes") or []
    if any("secret" in volume for volume in volumes) or spec.get("imagePullSecrets"):
        raise forbidden_early(request, "a mirror pod may not reference secrets")
    sources = [source for volume in volumes for source in (volume.get("projected") or {}).get("sources") or []]
    if any("serviceAccountToken" in source for source in sources):
        raise forbidden_early(request, "a mirror pod may not use ServiceAccountToken volume projections")


def _automounts(spec: Obj, account: Obj) -> bool:
    for choice in (spec.get("automountServiceAccountToken"), account.get("automountServiceAccountToken")):
        if choice is not None:
            return bool(choice)
    return True


def _mount_token(spec: Obj, suffix: Callable[[], str]) -> None:
    volumes = spec.get("volumes") or []
    existing = next((volume["name"] for volume in volumes if volume["name"].startswith(VOLUME_PREFIX)), None)
    name = existing or VOLUME_PREFIX + suffix()
    needed = False
    for container in [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]:
        mounts = container.get("volumeMounts") or []
        if any(mount.get("mountPath") == MOUNT_PATH for mount in mounts):
            continue
        container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}]
        needed = True
    if needed and existing is None:
        spec["volumes"] = [*volumes, {"name": name, "projected": _projection()}]


def _projection() -> Obj:
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
                    ]
                }
            },
        ],
        "defaultMode": 0o644,
    }
