# SPDX-License-Identifier: Apache-2.0
"""ResourceQuota: limits the usage of a namespace.

The plugin reads the namespace's quotas, computes what the write adds and rejects it if a quota is exceeded. Otherwise
it writes the new total to the quota's status through `reserve` *before* the object is written, so two concurrent writes
cannot both take the last unit. If the write then fails, the quota controller corrects the total.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from springtide.api import quantity
from springtide.api.mirror_pods import is_mirror
from springtide.local import status
from springtide.local.admission import quota_usage
from springtide.local.admission.quota_usage import Usage
from springtide.local.admission.request import CREATE, UPDATE, AdmissionRequest, Obj, Reader, forbidden

_ATTEMPTS: Final = 3
_UPDATABLE: Final = ("pods", "services", "persistentvolumeclaims")  # others only count objects, and an update adds none
_IGNORED: Final = ("events", "events.events.k8s.io")


class Charge(NamedTuple):
    quota: Obj
    used: dict[str, str]
    """The complete new `status.used`."""


Reserve = Callable[[Charge], Awaitable[bool]]
"""Store the charge in the quota's status; False when the quota has changed since it was read."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ResourceQuotas:
    def __init__(self, reader: Reader, reserve: Reserve, now: Callable[[], datetime] = _utc_now) -> None:
        self._reader = reader
        self._reserve = reserve
        self._now = now
        self._turns: dict[str, asyncio.Lock] = {}

    def handles(self, operation: str, storage: str, subresource: str) -> bool:
        if subresource or storage in _IGNORED:
            return False
        return operation == CREATE or (operation == UPDATE and storage in _UPDATABLE)

    async def admit(self, request: AdmissionRequest) -> None:
        if not request.namespace or not self._reader.list("resourcequotas", request.namespace):
            return
        # One at a time per namespace: many concurrent writers would otherwise use up their attempts on each other.
        async with self._turns.setdefault(request.namespace, asyncio.Lock()):
            for _ in range(_ATTEMPTS):
                quotas = self._reader.list("resourcequotas", request.namespace)
                charges = check(request, quotas, self._now())
                if request.dry_run or await self._book(charges):
                    return
        raise status.conflict("", "resourcequotas", charges[0].quota["metadata"]["name"], status.STALE)

    async def _book(self, charges: Iterable[Charge]) -> bool:
        for charge in charges:
            if not await self._reserve(charge):
                return False
        return True


def check(request: AdmissionRequest, quotas: Sequence[Obj], now: datetime) -> list[Charge]:
    """The charge of the write for each quota that counts it. Raises 403 when one of them would be exceeded."""
    storage, obj, old = request.storage, request.object(), request.old
    if storage == "pods" and is_mirror(obj):
        return []
    if storage == "pods" and old is not None and _deadline(obj) == _deadline(old):
        return []
    charges = []
    for quota in quotas:
        hard = (quota.get("status") or {}).get("hard") or {}
        names = quota_usage.tracked(storage, hard)
        if not names or not quota_usage.in_scope(quota, storage, obj):
            continue
        _check_said(request, quota, names)
        before = old if old is not None and quota_usage.in_scope(quota, storage, old) else None
        delta = quota_usage.quota_delta(storage, obj, before, now)
        charged = {name: amount for name, amount in delta.items() if name in hard}
        if charged:
            charges.append(Charge(quota, _new_used(request, quota, charged)))
    return charges


def _deadline(pod: Obj) -> bool:
    return pod["spec"].get("activeDeadlineSeconds") is not None


def _check_said(request: AdmissionRequest, quota: Obj, names: Sequence[str]) -> None:
    name = quota["metadata"]["name"]
    if request.storage == "pods":
        complaint = quota_usage.unsaid(names, request.object())
        if complaint:
            raise forbidden(request, f"failed quota: {name}: {complaint}")
    used = quota["status"].get("used") or {}
    if any(resource not in used for resource in names):
        raise forbidden(request, f"status unknown for quota: {name}, resources: {','.join(sorted(names))}")


def _new_used(request: AdmissionRequest, quota: Obj, charged: Usage) -> dict[str, str]:
    used = {name: quantity.parse(str(amount)) for name, amount in quota["status"]["used"].items()}
    hard = {name: quantity.parse(str(amount)) for name, amount in quota["status"]["hard"].items()}
    total = {**used, **{name: used[name] + amount for name, amount in charged.items()}}
    exceeded = [name for name in charged if total[name] > hard[name]]
    if exceeded:
        requested, so_far, limit = (_listed(amounts, exceeded) for amounts in (charged, used, hard))
        why = f"requested: {requested}, used: {so_far}, limited: {limit}"
        raise forbidden(request, f"exceeded quota: {quota['metadata']['name']}, {why}")
    return {name: str(amount) for name, amount in total.items()}


def _listed(amounts: Mapping[str, quantity.Quantity], names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(names))
