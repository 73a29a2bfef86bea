# SPDX-License-Identifier: Apache-2.0
"""PATCH in its four forms: JSON patch, merge patch, strategic merge patch and server-side apply.

As in Kubernetes, custom resources do not support strategic merge patch. A merge patch replaces their lists, and only
server-side apply merges them, by `x-kubernetes-list-type`. `springtide.local.patches` has a module for each form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from springtide.api import field_errors as field
from springtide.event_loop.long_work import in_thread
from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.encoding import bodies, bounds
from springtide.local.apiserver.encoding.go_json import NotJsonError
from springtide.local.apiserver.encoding.objects import encode
from springtide.local.apiserver.encoding.present import present
from springtide.local.apiserver.registry.resources import Resource
from springtide.local.apiserver.replies import Answer
from springtide.local.apiserver.verbs.options import WriteOptions, write_options
from springtide.local.apiserver.writing import writes
from springtide.local.kinds.strategy import Obj
from springtide.local.patches import apply, json_patch, merge_patch, strategic
from springtide.local.patches.conformity import go_text, json_kind
from springtide.local.schema.node import Node
from springtide.local.status import StatusError, bad_request, invalid, unsupported_media_type

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

Patcher = Callable[[Obj, Any, Node], Any]

_PATCHERS: dict[str, Patcher] = {
    JSON_PATCH: lambda obj, patch, _: json_patch.apply(obj, patch),
    MERGE_PATCH: lambda obj, patch, _: merge_patch.apply(obj, patch),
    STRATEGIC: strategic.apply,
}


async def patch(ctx: Context, call: Call) -> Answer:
    media = _checked_media(call)
    applied = media == APPLY
    options = write_options(call.request, "PatchOptions", apply=applied)
    if applied:
        return await _apply(ctx, call, options)
    outcome = await writes.replace(ctx, call, lambda stored: patched(call, stored, options), options)
    return await present(ctx, call, outcome.record)


def _checked_media(call: Call) -> str:
    media = bodies.media_type(call.request)
    if media == APPLY or (media in _PATCHERS and not (media == STRATEGIC and call.resource.custom)):
        return media
    if call.resource.custom:
        raise unsupported_media_type([JSON_PATCH, MERGE_PATCH, APPLY])
    raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def patched(call: Call, stored: Obj, options: WriteOptions) -> Obj:
    """The stored object with the request's patch applied, typed again."""
    try:
        body, duplicates = bodies.decoded(call.request.body)
    except NotJsonError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    media = _checked_media(call)
    changed = _PATCHERS[media](stored, body, call.resource.codec.node)
    if not isinstance(changed, dict):
        raise bad_request("the patch does not leave an object")
    _check_depth(changed, media)
    try:
        bodies.check_kind(changed, call.resource)
        return bodies.typed(call, changed, options.field_validation, duplicates)
    except StatusError as error:
        shown = go_text(body) if media == STRATEGIC else encode(changed).decode()
        raise _unfit(shown, error, call.resource) from None


def _check_depth(changed: Obj, media: str) -> None:
    """Only JSON patches can nest values so that shallow ones become deep."""
    if media == JSON_PATCH:
        try:
            bounds.check_depth(changed)
        except bounds.TooMuch as error:
            raise bad_request(f"the patch leaves an object that is too deep: {error}") from None


def _unfit(shown: str, error: StatusError, resource: Resource) -> StatusError:
    """Error for a patched object that is no longer valid for its kind."""
    why = error.message.partition(f"cannot be handled as a {resource.kind}: ")[2] or error.message
    return invalid("", "", "", [field.invalid("patch", shown, why)])


async def _apply(ctx: Context, call: Call, options: WriteOptions) -> Answer:
    """Server-side apply. The merge uses the schema, and also determines ownership and conflicts."""
    heavy = call.is_heavy()
    wanted = await in_thread(read_applied, call, options) if heavy else read_applied(call, options)
    writer = writes.writer(ctx, call, options.manager)
    node = call.resource.codec.node

    def change(stored: Obj | None) -> Obj:
        merged = apply.apply(stored, wanted, node, writer, force=options.force)
        return _converted(call, merged)

    def first() -> Obj:
        return _first(change(None), call)

    existing = ctx.store.get(call.key())
    missing: Obj | None = None
    if existing is None and not call.target.subresource:
        missing = await in_thread(first) if heavy else first()
    applied = replace(options, applied=True)
    outcome = await writes.replace(ctx, call, change, applied, missing=missing)
    return await present(ctx, call, outcome.record, 201 if outcome.created else 200)


def _first(obj: Obj, call: Call) -> Obj:
    """The object that apply creates: without resourceVersion; a uid is rejected."""
    obj["metadata"].pop("resourceVersion", None)
    if uid := obj["metadata"].get("uid"):
        error = field.invalid("metadata.uid", uid, "field is immutable")
        raise invalid(call.resource.group, call.resource.kind, call.target.name, [error])
    return obj


def _converted(call: Call, merged: Obj) -> Obj:
    """The merged object, typed by its kind. A mismatch is reported as a server error, as in kube-apiserver."""
    meta, resource = merged.get("metadata") or {}, call.resource
    try:
        return bodies.typed(call, merged, "Ignore", [])
    except StatusError as error:
        kind = f"{resource.group}/{resource.version}, Kind={resource.kind}"
        why = error.message.partition(f"cannot be handled as a {resource.kind}: ")[2] or error.message
        who = f"{meta.get('namespace', '')}/{meta.get('name', '')}; {kind}"
        raise StatusError(
            500,
            "",
            f"failed to convert new object ({who}) to proper version: unable to convert unstructured object to "
            f"{kind}: {why}",
        ) from None


def read_applied(call: Call, options: WriteOptions) -> Obj:
    """The applied configuration as sent: YAML or JSON, neither typed nor defaulted, because the manager owns fields in
    exactly the form sent."""
    try:
        value, duplicates = bodies.read_yaml(call.request.body, call.resource.kind)
    except StatusError as error:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error.message}") from None
    if not isinstance(value, dict):
        why = f"json: cannot unmarshal {json_kind(value)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}")
    bodies.speak_of(call, [f'duplicate field "{path}"' for path in duplicates], options.field_validation)
    return value
