# SPDX-License-Identifier: Apache-2.0
"""One stored object as the client asked to see it."""

from __future__ import annotations

from springtide.event_loop.long_work import in_thread
from springtide.local.apiserver import tables
from springtide.local.apiserver.beside import is_heavy
from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.objects import shown
from springtide.local.apiserver.replies import JSON, Reply, check_shape, reply_bytes
from springtide.local.store.backend import Record


async def present(ctx: Context, call: Call, record: Record, code: int = 200) -> Reply:
    """Bytes as they are stored cost nothing; every other form of a large object is made on the thread."""
    form = call.form
    if form.media == JSON and not form.kind:
        return Reply(shown(record, call.resource), code)
    if is_heavy(record.body):
        return await in_thread(_presented, ctx, call, record, code)
    return _presented(ctx, call, record, code)


def _presented(ctx: Context, call: Call, record: Record, code: int) -> Reply:
    form = call.form
    check_shape(form, call.resource.go_type, is_list=False)
    if form.kind == "Table":
        policy = tables.include_object(call.request.query.get("includeObject"))
        version = tables.version_of(record)
        metadata = {"resourceVersion": version} if version else {}
        body = tables.table([record], call.resource, ctx.now(), policy, metadata=metadata, version=form.version)
    elif form.kind == "PartialObjectMetadata":
        body = tables.partial(record, form.version)
    else:
        body = shown(record, call.resource)
    return reply_bytes(body, form, code)
