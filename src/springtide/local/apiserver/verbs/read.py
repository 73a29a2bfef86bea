# SPDX-License-Identifier: Apache-2.0
"""GET of one object, and of a collection in whole or in pages.

All pages are read at the revision of the first one, rebuilt from the store's history, so that a client sees one
consistent state.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import msgspec

from springtide.local import status
from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.encoding.objects import encode
from springtide.local.apiserver.encoding.present import present, present_list
from springtide.local.apiserver.replies import Answer
from springtide.local.apiserver.verbs.options import ListOptions, list_options, revision_of
from springtide.local.apiserver.verbs.selecting import selection
from springtide.local.store.backend import CompactedError, FutureRevisionError, Record


async def get(ctx: Context, call: Call) -> Answer:
    if version := call.request.query.get("resourceVersion"):
        wanted = revision_of(version)
        if wanted > ctx.store.revision:
            raise too_new(wanted, ctx.store.revision)
    record = ctx.store.get(call.key())
    if record is None:
        raise status.not_found(call.resource.group, call.resource.plural, call.target.name)
    return await present(ctx, call, record)


class Token(msgspec.Struct):
    """Continue token: start of the next page, and the revision."""

    revision: int
    after: tuple[str, str]


async def list_collection(ctx: Context, call: Call) -> Answer:
    options = list_options(call.request.query, watch=False)
    wanted = await selection(call.resource, options.label_selector, options.field_selector)
    revision, records = _moment(ctx, call, options)
    if wanted is not None:
        records = await wanted.among(records)
    metadata: dict[str, Any] = {"resourceVersion": str(revision)}
    if call.resource.custom and not call.form.kind:
        metadata["continue"] = ""  # kube-apiserver sets it for custom resources only
    if options.limit > 0 and len(records) > options.limit:
        left = len(records) - options.limit
        records = records[: options.limit]
        last = records[-1].key
        metadata["continue"] = _write_token(Token(revision, (last.namespace, last.name)))
        if wanted is None:
            metadata["remainingItemCount"] = left
    return await present_list(ctx, call, records, metadata)


def _moment(ctx: Context, call: Call, options: ListOptions) -> tuple[int, Sequence[Record]]:
    """The revision to list at, and the records at that revision."""
    resource = call.resource
    namespace = call.target.namespace if resource.namespaced else ""
    if options.token:
        if options.version and options.version != "0":
            raise status.bad_request("specifying resource version is not allowed when using continue")
        token = _read_token(options.token)
        try:
            records = ctx.store.list_at(resource.storage, token.revision, namespace)
        except CompactedError:
            raise _expired() from None
        except FutureRevisionError:  # a token made by another server, or before the cluster's files were restored
            raise too_new(token.revision, ctx.store.revision, retry=False) from None
        return token.revision, [r for r in records if (r.key.namespace, r.key.name) > token.after]
    wanted = _listed_revision(options.version)
    exact = options.match == "Exact" or (options.limit > 0 and not options.match)
    if wanted > ctx.store.revision:
        raise too_new(wanted, ctx.store.revision, retry=not exact)
    if wanted and exact:
        try:
            return wanted, ctx.store.list_at(resource.storage, wanted, namespace)
        except CompactedError:
            raise status.expired("The resourceVersion for the provided list is too old.") from None
    return ctx.store.revision, ctx.store.list(resource.storage, namespace)


def _listed_revision(version: str) -> int:
    try:
        return revision_of(version)
    except status.StatusError as error:
        raise status.bad_request(f"invalid resource version: {error.message}") from None


def too_new(wanted: int, current: int, *, retry: bool = True) -> status.StatusError:
    details = {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return status.StatusError(504, "Timeout", message, details, retry_after=1 if retry else None)


def _expired() -> status.StatusError:
    return status.expired(
        "The provided continue parameter is too old to display a consistent list result. You must start a new list "
        "without the continue parameter."
    )


def _write_token(token: Token) -> str:
    return base64.urlsafe_b64encode(encode(token)).decode().rstrip("=")


def _read_token(text: str) -> Token:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Token)
    except (binascii.Error, ValueError, msgspec.MsgspecError, RecursionError):
        message = "invalid continue token: continue key is not valid: it was not made by this server"
        raise status.bad_request(message) from None
