# SPDX-License-Identifier: Apache-2.0
"""The scale subresource: reads and sets the replica count of any resource with replicas.

`kubectl scale`, the autoscaler and scripts use it; a change is an update of the object behind it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from springtide.api import field_errors as field
from springtide.local import status
from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.encoding import bodies
from springtide.local.apiserver.encoding.codecs import BuiltinCodec
from springtide.local.apiserver.encoding.objects import load
from springtide.local.apiserver.registry import scales
from springtide.local.apiserver.registry.resources import Resource, Subresource
from springtide.local.apiserver.registry.scales import GROUP, KIND, VERSION, missing, paths_of, scale_of
from springtide.local.apiserver.replies import Answer, reply
from springtide.local.apiserver.verbs.options import WriteOptions, write_options
from springtide.local.apiserver.verbs.patch import APPLY, patched, read_applied
from springtide.local.apiserver.writing import writes
from springtide.local.kinds.strategy import Obj, Strategy
from springtide.local.patches import apply

SUBRESOURCE = Subresource(scales.SUBRESOURCE, KIND, frozenset({"get", "patch", "update"}), GROUP, VERSION)
_SCALE = Resource(
    GROUP, VERSION, "scales", KIND, "", True, Strategy(), lambda: BuiltinCodec(GROUP, VERSION, KIND)
)  # fmt: skip


async def get(ctx: Context, call: Call) -> Answer:
    record = ctx.store.get(call.key())
    if record is None:
        raise status.not_found(call.resource.group, call.resource.plural, call.target.name)
    stored = load(record, call.resource)
    if path := missing(stored, call.resource):
        raise status.internal(f'the spec replicas field "{path}" does not exist')
    return reply(scale_of(stored, call.resource), call.form)


async def update(ctx: Context, call: Call) -> Answer:
    options = write_options(call.request, "UpdateOptions")
    scale = bodies.read_object(_as_scale(call), options.field_validation)

    def change(stored: Obj) -> Obj:
        return _resized(stored, scale, call)

    return await _replace(ctx, call, change, options)


async def patch(ctx: Context, call: Call) -> Answer:
    applied = bodies.media_type(call.request) == APPLY
    options = write_options(call.request, "PatchOptions", apply=applied)
    if applied:
        return await _apply(ctx, call, options)

    def change(stored: Obj) -> Obj:
        scale = patched(_as_scale(call), scale_of(stored, call.resource), options)
        path = missing(stored, call.resource)
        if path and "replicas" not in scale.get("spec", {}):
            raise status.bad_request(f'the spec replicas field "{path}" cannot be empty')
        return _resized(stored, scale, call)

    return await _replace(ctx, call, change, options)


async def _apply(ctx: Context, call: Call, options: WriteOptions) -> Answer:
    """Server-side apply of a Scale: the manager owns the replica count of the object behind it."""
    config = read_applied(_as_scale(call), options)
    head, replicas = (config.get("apiVersion"), config.get("kind")), (config.get("spec") or {}).get("replicas")
    if head != (f"{GROUP}/{VERSION}", KIND):
        raise status.bad_request(f"invalid object type: {head[0] or '/'}, Kind={head[1] or ''}")
    resource, writer = call.resource, writes.writer(ctx, call, options.manager)
    meta = {"name": call.target.name}
    wanted: Obj = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
    if replicas is not None:
        _put_at(wanted, paths_of(resource).spec, replicas)

    def change(stored: Obj) -> Obj:
        return apply.apply(stored, wanted, resource.codec.node, writer, force=options.force)

    return await _replace(ctx, call, change, replace(options, applied=True))


def _put_at(obj: Obj, path: tuple[str, ...], value: Any) -> None:
    *outer, last = path
    for step in outer:
        obj = obj.setdefault(step, {})
    obj[last] = value


async def _replace(ctx: Context, call: Call, change: writes.Change, options: Any) -> Answer:
    outcome = await writes.replace(ctx, call, change, options)
    return reply(scale_of(load(outcome.record, call.resource), call.resource), call.form)


def _as_scale(call: Call) -> Call:
    """The same request with its body read as a Scale."""
    return Call(call.request, call.target, _SCALE, call.form)


def _resized(stored: Obj, scale: Obj, call: Call) -> Obj:
    meta = scale.get("metadata", {})
    if meta.get("name", call.target.name) != call.target.name:
        raise status.bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({call.target.name})"
        )
    replicas = scale.get("spec", {}).get("replicas", 0)
    if replicas < 0 and not call.resource.custom:
        error = field.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise status.invalid(GROUP, KIND, call.target.name, [error])
    _put_at(stored, paths_of(call.resource).spec, replicas)
    if meta.get("resourceVersion"):
        stored["metadata"]["resourceVersion"] = meta["resourceVersion"]
    return stored
