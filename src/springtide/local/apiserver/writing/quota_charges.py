# SPDX-License-Identifier: Apache-2.0
"""Writes the quota usage that admission computed, so that two creates cannot both take the last unit."""

from __future__ import annotations

from functools import partial

from springtide.local.admission.quotas import Charge
from springtide.local.apiserver.context import Context
from springtide.local.apiserver.encoding.objects import dump, load
from springtide.local.apiserver.writing.writes import storage_full
from springtide.local.patches import field_sets, managed_fields
from springtide.local.patches.managed_fields import Writer
from springtide.local.store.backend import FullError, Key, StaleError


async def reserve_quota(ctx: Context, charge: Charge) -> bool:
    """False when the quota changed since the charge was computed."""
    resource = ctx.registry.find("", "v1", "resourcequotas")
    assert resource is not None
    meta = charge.quota["metadata"]
    record = ctx.store.get(Key("resourcequotas", meta["namespace"], meta["name"]))
    if record is None:
        return False
    before, quota = load(record, resource), load(record, resource)
    if quota["metadata"]["resourceVersion"] != meta["resourceVersion"]:
        return False
    quota.setdefault("status", {})["used"] = dict(charge.used)
    status_only = field_sets.excluding("spec")
    writer = Writer("kube-apiserver", "v1", ctx.now(), "ResourceQuota", "status", status_only)
    managed_fields.track(before, quota, resource.codec.node, writer)
    try:
        await ctx.store.write(record.key, record, partial(dump, quota, resource))
    except StaleError:
        return False
    except FullError as error:
        raise storage_full(error) from None
    return True
