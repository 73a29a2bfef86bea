# SPDX-License-Identifier: Apache-2.0
"""Values of an object's selectable fields, read once for all watches and without decoding the rest.

Every watch with a field selector checks every change, before and after. A record caches the values read from it, and
only the maps on the path to a field are decoded: the rest of a large object is skipped.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from springtide.local.apiserver.encoding.objects import load
from springtide.local.apiserver.registry.resources import Resource
from springtide.local.store.backend import Record

_LONGEST_KEPT: Final = 4096
"""Maximum characters of all cached values of one record; longer ones would double the object's memory."""

_parts = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Parts(dict[str, Any]):
    """A JSON object whose values are decoded on access."""

    @classmethod
    def of(cls, encoded: bytes | msgspec.Raw) -> Parts:
        return cls(_parts.decode(encoded))

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if isinstance(value, msgspec.Raw):
            value = self[key] = Parts.of(value) if bytes(memoryview(value)[:1]) == b"{" else msgspec.json.decode(value)
        return value

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default


def field_values(record: Record, resource: Resource) -> dict[str, str]:
    """Values by the field names that selectors use."""
    readers = resource.strategy.fields
    known = record.fields
    if known is not None and known[0] is readers:
        return known[1]
    # A version other than the stored one is converted, which needs the whole object.
    obj = Parts.of(record.body) if resource.from_storage is None else load(record, resource)
    values = {name: read(obj) for name, read in readers.items()}
    if sum(map(len, values.values())) <= _LONGEST_KEPT:
        record.keep_fields(readers, values)
    return values
