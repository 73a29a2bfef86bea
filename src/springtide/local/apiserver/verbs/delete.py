# SPDX-License-Identifier: Apache-2.0
"""DELETE of one object or of a collection."""

from __future__ import annotations

import asyncio
from typing import Any

from springtide.local import status
from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.encoding import bodies
from springtide.local.apiserver.encoding.objects import dump, load
from springtide.local.apiserver.encoding.present import check_list, present, present_list
from springtide.local.apiserver.registry.resources import Resource
from springtide.local.apiserver.replies import Answer, reply, success
from springtide.local.apiserver.verbs.options import DeleteOptions, WriteOptions, delete_options, list_options
from springtide.local.apiserver.verbs.selecting import selection
from springtide.local.apiserver.writing import writes
from springtide.local.apiserver.writing.admission_requests import admission_request
from springtide.local.apiserver.writing.deletion import mark
from springtide.local.schema import builtin
from springtide.local.schema.decode import DecodeError, decode
from springtide.local.store.backend import FullError, Record, StaleError

_MODEL = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
TOGETHER = 16
"""Objects of a collection that are deleted concurrently: one durable write then serves them all."""
_ORPHANS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them "
    "or set propagationPolicy=Orphan to suppress this warning"
)


async def delete(ctx: Context, call: Call) -> Answer:
    options = _options(call)
    record, gone = await delete_object(ctx, call, options)
    resource = call.resource
    if gone and not resource.answers_deleted:
        uid = load(record, resource)["metadata"]["uid"]
        return reply(success(resource.group, resource.plural, call.target.name, uid), call.form)
    return await present(ctx, call, record)


def _options(call: Call) -> DeleteOptions:
    body: Any = {}
    if call.request.body:
        body, _ = bodies.read_plain(call.request, "DeleteOptions")
        body = {} if body is None else body
        if not isinstance(body, dict):
            raise status.bad_request("decoded object cannot be converted to DeleteOptions")
        if body.get("kind", "DeleteOptions") != "DeleteOptions":
            raise status.bad_request(bodies.not_registered(body["kind"], body.get("apiVersion", "")))
        body = _typed(body)
    options = delete_options(call.request.query, body)
    if call.resource.orphans_by_default and not options.policy:
        call.request.warnings.append(_ORPHANS)
    return options


def _typed(body: dict[str, Any]) -> dict[str, Any]:
    try:
        return decode(body, builtin.model(_MODEL))[0]
    except DecodeError as error:
        raise status.bad_request(str(error)) from None


async def delete_object(ctx: Context, call: Call, options: DeleteOptions) -> tuple[Record, bool]:
    """Delete the object; returns its last state and whether it is removed already."""
    resource, key = call.resource, call.key()
    write = WriteOptions(options.dry_run, "Ignore", "")
    for _ in range(writes.ATTEMPTS):
        record = ctx.store.get(key)
        if record is None:
            raise status.not_found(resource.group, resource.plural, key.name)
        before, obj = load(record, resource), load(record, resource)
        _check_preconditions(call, before["metadata"], options)
        admission = admission_request(call, "DELETE", None, before, write)
        await ctx.admission.mutate(admission)
        await ctx.admission.validate(admission)
        gone = mark(obj, resource, options, ctx.now())
        if options.dry_run:
            return (_seen_last(record, obj, resource) if gone else _with_body(record, obj, resource)), gone
        if obj == before and not gone:  # gone: released by an earlier request that ended before it removed the object
            return record, False
        try:
            if gone:
                if resource.grace is not None and before["metadata"].get("deletionGracePeriodSeconds"):
                    record = await ctx.store.write(key, record, writes.encoder(resource, obj))
                    before = load(record, resource)  # watchers see the grace period end before the pod is deleted
                last = await ctx.store.delete(key, record, writes.encoder(resource, before))
                return _seen_last(last, obj, resource), True
            return await ctx.store.write(key, record, writes.encoder(resource, obj)), False
        except StaleError:
            continue
        except FullError as error:
            raise writes.storage_full(error) from None
    raise status.conflict(resource.group, resource.plural, key.name, status.STALE)


def _seen_last(record: Record, marked: dict[str, Any], resource: Resource) -> Record:
    """The response to a DELETE: with deletion marks for a kind with grace period, otherwise the object as it was."""
    return record if resource.grace is None else _with_body(record, marked, resource)


def _with_body(record: Record, obj: dict[str, Any], resource: Resource) -> Record:
    return Record(record.key, record.revision, dump(obj, resource, record.revision))


def _check_preconditions(call: Call, meta: dict[str, Any], options: DeleteOptions) -> None:
    for what, wanted, found in (
        ("UID", options.uid, meta["uid"]),
        ("ResourceVersion", options.resource_version, meta["resourceVersion"]),
    ):
        if wanted and wanted != found:
            raise _unmet(call, what, wanted, found)


def _unmet(call: Call, what: str, wanted: str, found: str) -> status.StatusError:
    resource, name = call.resource, call.target.name
    if resource.held is not None:
        why = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
        return status.conflict(resource.group, resource.plural, name, why)
    event = "deleted and then recreated" if what == "UID" else "modified"
    why = (
        f"the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). "
        f"The object might have been {event}"
    )
    return status.conflict(resource.group, resource.kind, name, why)


async def delete_collection(ctx: Context, call: Call) -> Answer:
    options = _options(call)
    listed = list_options(call.request.query, watch=False)
    resource = call.resource
    wanted = await selection(resource, listed.label_selector, listed.field_selector)
    namespace = call.target.namespace if resource.namespaced else ""
    revision, records = ctx.store.revision, ctx.store.list(resource.storage, namespace)
    if wanted is not None:
        records = await wanted.among(records)
    check_list(call, records)  # before anything is deleted

    async def delete_one(record: Record) -> Record | None:
        target = call.target.named(record.key.namespace, record.key.name)
        try:
            await delete_object(ctx, Call(call.request, target, resource), options)
        except status.StatusError as error:
            if error.code == 404:  # deleted by another request meanwhile
                return None
            raise
        return record

    deleted: list[Record] = []
    for start in range(0, len(records), TOGETHER):
        some = await asyncio.gather(
            *(delete_one(record) for record in records[start : start + TOGETHER]), return_exceptions=True
        )
        for found in some:
            if isinstance(found, BaseException):
                raise found
            if found is not None:
                deleted.append(found)
    metadata: dict[str, Any] = ({"continue": ""} if resource.custom else {}) | {"resourceVersion": str(revision)}
    return await present_list(ctx, call, deleted, metadata)
