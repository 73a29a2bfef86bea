# SPDX-License-Identifier: Apache-2.0
"""Decodes protobuf request bodies to the same plain object as a JSON body.

kubectl and client-go send `application/vnd.kubernetes.protobuf` for built-in kinds and do not fall back to JSON after a
415, so the server must read it; responses may always be JSON, so protobuf is never written. A body is the magic
`k8s\\0`, an envelope with apiVersion and kind, and in it the message of that kind. The mapping of field numbers to
fields comes from the schema's `Node` graph, compiled once per kind (`messages.py`).

Called by the API server's body reader. Invalid input leads to a 400, never to another exception.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import msgspec

from springtide.local import status
from springtide.local.schema import builtin
from springtide.local.wire.messages import Message, compile_message
from springtide.local.wire.scalars import Malformed, content, fields_of

MAGIC: Final = b"k8s\x00"

# Kinds of the meta group that every API group also serves in its own version: `batch/v1 DeleteOptions`.
_META_KINDS: Final = frozenset({"DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions", "Status"})

# Fields of the envelope (runtime.Unknown), and those of its first field (runtime.TypeMeta).
_TYPE_META, _RAW, _CONTENT_ENCODING = 1, 2, 3
_API_VERSION, _KIND = 1, 2


def decode(body: bytes) -> dict[str, Any]:
    """The object in a protobuf body, with its apiVersion and kind."""
    try:
        api_version, kind, raw = _envelope(body)
        fields = _message_of(api_version, kind).decode(raw)
    except Malformed as problem:
        raise _unreadable(str(problem)) from None
    except UnicodeDecodeError:
        raise _unreadable("a string is not valid UTF-8") from None
    except IndexError:
        raise _unreadable("unexpected EOF") from None
    except (msgspec.DecodeError, RecursionError) as problem:
        raise _unreadable(f"a field that holds JSON cannot be read: {problem}") from None
    return {"kind": kind, "apiVersion": api_version, **fields}


def _unreadable(why: str) -> status.StatusError:
    return status.bad_request(f"the body of the request is not a readable protobuf message: {why}")


def _envelope(body: bytes) -> tuple[str, str, bytes]:
    if not body.startswith(MAGIC):
        raise Malformed("it does not begin with the prefix of a Kubernetes protobuf message")
    envelope = fields_of(body, len(MAGIC), len(body))
    encoding = content(envelope, _CONTENT_ENCODING)
    if encoding:
        raise Malformed(f"content encoding {encoding.decode()!r} is not supported")
    type_meta = content(envelope, _TYPE_META)
    names = fields_of(type_meta, 0, len(type_meta))
    api_version, kind = content(names, _API_VERSION).decode(), content(names, _KIND).decode()
    if not kind:
        raise Malformed("Object 'Kind' is missing")
    if not api_version:
        raise Malformed("Object 'apiVersion' is missing")
    return api_version, kind, content(envelope, _RAW)


@lru_cache(maxsize=256)
def _message_of(api_version: str, kind: str) -> Message:
    group, _, version = api_version.rpartition("/")
    if kind in _META_KINDS:
        group, version = "", "v1"
    try:
        node = builtin.kind_node(group, version, kind)
    except KeyError:
        raise status.bad_request(
            f'no kind "{kind}" is registered for version "{api_version}" in the protobuf decoder'
        ) from None
    return compile_message(node)
