# SPDX-License-Identifier: Apache-2.0
"""Codecs from body to object: by a built-in type, or by a custom resource's schema."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from springtide.api.field_errors import FieldError, collected
from springtide.event_loop.long_work import in_thread
from springtide.local.kinds.strategy import Obj
from springtide.local.schema import builtin
from springtide.local.schema.cel import SHORT, TooLong
from springtide.local.schema.compiled import CompiledSchema
from springtide.local.schema.decode import DecodeError, decode
from springtide.local.schema.defaults import Room, apply_defaults
from springtide.local.schema.node import Node
from springtide.local.status import bad_request

_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class BuiltinCodec:
    def __init__(self, group: str, version: str, kind: str) -> None:
        self._group, self._version, self._kind = group, version, kind
        self.costly = kind == "CustomResourceDefinition"
        """Whether even a small object may take long: a short definition can compile to a large program."""
        self.validate = None  # the kind's strategy does all validation

    @cached_property
    def node(self) -> Node:
        return builtin.kind_node(self._group, self._version, self._kind)

    def decode(self, obj: Obj) -> tuple[Obj, list[str]]:
        try:
            return decode(obj, self.node)
        except DecodeError as error:
            raise _mismatch(self._kind, self._version, error) from None

    def default(self, obj: Obj, room: Room) -> None:
        apply_defaults(obj, self.node, room)


class CustomCodec:
    """Metadata has its built-in type; the rest follows the CRD's schema."""

    def __init__(self, version: str, kind: str, schema: CompiledSchema) -> None:
        self._version, self._kind, self._schema = version, kind, schema

    @property
    def costly(self) -> bool:
        """Whether even a small object may take long: the length of a pattern does not limit its steps."""
        return self._schema.costly

    @cached_property
    def node(self) -> Node:
        return self._schema.node

    def decode(self, obj: Obj) -> tuple[Obj, list[str]]:
        metadata: Any = obj.pop("metadata", {})
        if not isinstance(metadata, dict):
            raise bad_request("metadata must be an object")
        unknown = self._schema.prune(obj)
        try:
            typed, unknown_metadata = decode(metadata, builtin.model(_META))
        except DecodeError as error:
            raise _mismatch(self._kind, self._version, error) from None
        ordered = {"apiVersion": obj.pop("apiVersion"), "kind": obj.pop("kind"), "metadata": typed, **obj}
        return ordered, [f"metadata.{path}" for path in unknown_metadata] + unknown

    def default(self, obj: Obj, room: Room) -> None:
        self._schema.default(obj, room)

    async def validate(self, obj: Obj, old: Obj | None, heavy: bool = False) -> list[FieldError]:
        """Validate by the schema. Rules may take seconds on a large object; those run on a thread."""
        if self._schema.compiles_long:
            await in_thread(self._schema.compile)
        if not heavy:
            try:
                return collected(self._schema.validate, obj, old, SHORT)
            except TooLong:
                pass
        return await in_thread(collected, self._schema.validate, obj, old, None)


def _mismatch(kind: str, version: str, error: DecodeError) -> Exception:
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {error}')
