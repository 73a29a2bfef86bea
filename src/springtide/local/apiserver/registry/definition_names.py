# SPDX-License-Identifier: Apache-2.0
"""Names used by CustomResourceDefinitions; each definition is decoded once per revision.

After a change of one definition the names of all others are read, but not their schemas of up to a megabyte each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from springtide.local.kinds.strategy import Obj
from springtide.local.store.backend import Key, Record


class _Metadata(msgspec.Struct):
    name: str


class _Spec(msgspec.Struct):
    group: str


class _Status(msgspec.Struct):
    acceptedNames: dict[str, Any] | None = None


class _Definition(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec
    status: _Status | None = None


_decode = msgspec.json.Decoder(_Definition).decode


class DefinitionNames:
    def __init__(self) -> None:
        self._known: dict[Key, tuple[int, Obj]] = {}

    def of(self, records: Iterable[Record]) -> list[Obj]:
        """Name, group and accepted names of all definitions, as `apiextensions.established` reads them."""
        known = self._known
        self._known = {}
        for record in records:
            found = known.get(record.key)
            if found is None or found[0] != record.revision:
                found = record.revision, _names(record.body)
            self._known[record.key] = found
        return [names for _, names in self._known.values()]


def _names(body: bytes) -> Obj:
    definition = _decode(body)
    accepted = None if definition.status is None else definition.status.acceptedNames
    return {
        "metadata": {"name": definition.metadata.name},
        "spec": {"group": definition.spec.group},
        "status": {"acceptedNames": accepted or {}},
    }
