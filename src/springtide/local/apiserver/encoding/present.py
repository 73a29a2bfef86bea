# SPDX-License-Identifier: Apache-2.0
"""Responses with one stored object or a list, in the form that the client requested."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any, Final

from springtide.event_loop.long_work import in_thread
from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.encoding import tables
from springtide.local.apiserver.encoding.objects import encode, item_parts, shown, shown_parts
from springtide.local.apiserver.encoding.pieces import PIECE, Part, in_pieces
from springtide.local.apiserver.replies import (
    JSON,
    PARTIAL_LIST,
    Answer,
    Reply,
    Stream,
    check_shape,
    reply_bytes,
)
from springtide.local.apiserver.worker_thread import beside, is_heavy
from springtide.local.status import StatusError
from springtide.local.store.backend import Record

MOST_YAML: Final = 2 << 20
"""Maximum JSON size of a list returned as YAML: writing YAML takes a thousand times longer."""
_LIGHT_YAML: Final = 16 << 10
"""Maximum JSON size of what is written as YAML on the event loop."""


async def present(ctx: Context, call: Call, record: Record, code: int = 200) -> Answer:
    """The stored bytes are sent at no cost; every other form of a large object is made on the thread."""
    form = call.form
    if form.media == JSON and not form.kind:
        if len(record.body) > PIECE:
            return Stream(in_pieces(shown_parts(record, call.resource)), code, compressible=True)
        return Reply(shown(record, call.resource), code)
    if is_heavy(record.body) or (form.media != JSON and len(record.body) > _LIGHT_YAML):
        return await in_thread(_presented, ctx, call, record, code)
    return _presented(ctx, call, record, code)


def _presented(ctx: Context, call: Call, record: Record, code: int) -> Reply:
    form = call.form
    check_shape(form, call.resource.go_type, is_list=False)
    if form.kind == "Table":
        policy = tables.include_object(call.request.query.get("includeObject"))
        version = tables.version_of(record)
        metadata = {"resourceVersion": version} if version else {}
        parts = tables.parts([record], call.resource, ctx.now(), policy, metadata=metadata, version=form.version)
        body = b"".join(parts)
    elif form.kind == "PartialObjectMetadata":
        body = tables.partial(record, form.version)
    else:
        body = shown(record, call.resource)
    return reply_bytes(body, form, code)


async def present_list(ctx: Context, call: Call, records: Sequence[Record], metadata: dict[str, Any]) -> Answer:
    """Of a long list one piece is in memory at a time. The first is made here, where an error can still be returned."""
    check_list(call, records)
    form, size = call.form, _size(records)
    if form.media == JSON and size > PIECE:
        pieces = in_pieces(_list_parts(ctx, call, records, metadata))
        return Stream(_continued(await anext(pieces), pieces), compressible=True)
    return await beside(
        form.media != JSON and size > _LIGHT_YAML,
        lambda: reply_bytes(b"".join(_list_parts(ctx, call, records, metadata)), form),
    )


def check_list(call: Call, records: Sequence[Record]) -> None:
    """Reject a list that cannot be written in the requested form."""
    form = call.form
    check_shape(form, f"{call.resource.go_type}List", is_list=True)
    if form.kind == "Table":
        tables.include_object(call.request.query.get("includeObject"))
    if form.media != JSON and _size(records) > MOST_YAML:
        raise _too_much_yaml(_size(records))


def _size(records: Sequence[Record]) -> int:
    return sum(len(record.body) for record in records)


async def _continued(first: Part, rest: AsyncGenerator[Part]) -> AsyncIterator[Part]:
    async with aclosing(rest):
        yield first
        async for piece in rest:
            yield piece


def _list_parts(ctx: Context, call: Call, records: Sequence[Record], metadata: dict[str, Any]) -> Iterable[Part]:
    form, resource = call.form, call.resource
    if form.kind == "Table":
        policy = tables.include_object(call.request.query.get("includeObject"))
        return tables.parts(records, resource, ctx.now(), policy, metadata=metadata, version=form.version)
    if form.kind == PARTIAL_LIST:
        frame: dict[str, Any] = {"kind": PARTIAL_LIST, "apiVersion": f"meta.k8s.io/{form.version}"}
        return _enumerated(
            frame | {"metadata": metadata}, ((tables.partial(record, form.version),) for record in records)
        )
    frame = {"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": metadata}
    return _enumerated(frame, (item_parts(record, resource) for record in records))


def _enumerated(frame: dict[str, Any], items: Iterable[Iterable[Part]]) -> Iterator[Part]:
    yield encode(frame)[:-1] + b',"items":['
    for index, item in enumerate(items):
        if index:
            yield b","
        yield from item
    yield b"]}"


def _too_much_yaml(size: int) -> StatusError:
    message = (
        f"a list of {size} bytes is not written as YAML, which is slow to write; ask for application/json, or for "
        f"less than {MOST_YAML} bytes with limit or a selector"
    )
    return StatusError(406, "NotAcceptable", message)
