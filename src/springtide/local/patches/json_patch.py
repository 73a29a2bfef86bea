# SPDX-License-Identifier: Apache-2.0
"""JSON patch (RFC 6902) with the deviations of the library behind kube-apiserver.

Those deviations: `replace` of a missing map key adds it, `copy` of a missing one writes null, a missing `value` is
null, indices may count from the end, all `copy` operations together add at most 3 MiB. Every operation that does not
apply leads to the same sparse 422. The patch verb decodes the body and calls `apply`. Target and patch are never
changed: each of their containers is copied once, when an operation first accesses it, so that many operations on a long
list cost no more than the list and the operations.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import msgspec

from springtide.local.patches.conformity import json_kind
from springtide.local.status import StatusError, bad_request

MAX_OPERATIONS: Final = 10_000
MAX_COPIED: Final = 3 * 1024 * 1024

_INDEX_DIGITS: Final = 32  # no list is longer, and Python converts thousands of digits slowly

_Container = dict[str, Any] | list[Any]


class _NotApplicableError(Exception):
    """The operation does not apply to the document."""


class _Document:
    """The document so far. The list around it gives the root a parent like any other value."""

    def __init__(self, target: dict[str, Any]) -> None:
        self.holder: list[Any] = [target]
        self.copied = 0
        """Bytes added by `copy` operations."""
        self._own: set[int] = {id(self.holder)}
        """Identities of containers made here. The original ones outlive this object, so no identity is reused."""

    def find(self, path: Any) -> tuple[_Container, str]:
        """The container of the value at a path, and the last step. Copies containers on the path."""
        if not isinstance(path, str):
            raise _NotApplicableError("no path")
        steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
        if not steps:
            raise _NotApplicableError("the root has no parent")
        place: _Container = self.holder
        for step in ("0", *steps[:-1]):
            below = _get(place, step)
            if not isinstance(below, dict | list):
                raise _NotApplicableError(path)
            if id(below) not in self._own:
                below = below.copy()
                self._own.add(id(below))
                _overwrite(place, step, below)
            place = below
        return place, steps[-1]

    def copy_of(self, value: Any) -> Any:
        """A deep copy; the limit is checked before it is made."""
        try:
            encoded = msgspec.json.encode(value)
            self.copied += len(encoded)
            if self.copied > MAX_COPIED:
                raise _NotApplicableError("copies more than the limit")
            return msgspec.json.decode(encoded) if isinstance(value, dict | list) else value
        except RecursionError as error:
            raise _NotApplicableError("too deep") from error


def apply(target: dict[str, Any], patch: Any) -> Any:
    """The patched document (any JSON value, if the root was replaced). Raises StatusError 400, 413 or 422."""
    operations = _operations(patch)
    document = _Document(target)
    try:
        for operation in operations:
            _OPERATIONS.get(operation.get("op", ""), _unknown)(document, operation)
    except _NotApplicableError as error:
        raise StatusError(
            422, "Invalid", "the server rejected our request due to an error in our request", {}
        ) from error
    return document.holder[0]


def _operations(patch: Any) -> list[dict[str, Any]]:
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise _undecodable(patch, "Go value of type []handlers.jsonPatchOp")
    for operation in patch:
        _check_operation(operation)
    if len(patch) > MAX_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}"
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {text}")
    return patch


def _check_operation(operation: Any) -> None:
    if not isinstance(operation, dict):
        raise _undecodable(operation, "Go value of type handlers.jsonPatchOp")
    for name in ("op", "path", "from"):
        value = operation.get(name)
        if value is not None and not isinstance(value, str):
            raise _undecodable(value, f"Go struct field jsonPatchOp.{name} of type string")


def _undecodable(value: Any, into: str) -> StatusError:
    return bad_request(f"error decoding patch: json: cannot unmarshal {json_kind(value)} into {into}")


def _overwrite(place: _Container, step: str, value: Any) -> None:
    if isinstance(place, dict):
        place[step] = value
    else:
        place[_index(step, len(place))] = value


def _get(place: _Container, step: str) -> Any:
    """A missing map key reads as null, a missing index is an error."""
    return place.get(step) if isinstance(place, dict) else place[_index(step, len(place))]


def _index(step: str, size: int) -> int:
    try:
        index = int(step[:_INDEX_DIGITS])
    except ValueError as error:
        raise _NotApplicableError(step) from error
    if not -size <= index < size:
        raise _NotApplicableError(step)
    return index + size if index < 0 else index


def _put(place: _Container, step: str, value: Any) -> None:
    if isinstance(place, dict):
        place[step] = value
    elif step == "-":
        place.append(value)
    else:
        place.insert(_index(step, len(place) + 1), value)


def _take(place: _Container, step: str) -> Any:
    if isinstance(place, list):
        return place.pop(_index(step, len(place)))
    if step not in place:
        raise _NotApplicableError(step)
    return place.pop(step)


def _add(document: _Document, operation: dict[str, Any]) -> None:
    _put(*document.find(operation.get("path")), operation.get("value"))


def _remove(document: _Document, operation: dict[str, Any]) -> None:
    _take(*document.find(operation.get("path")))


def _replace(document: _Document, operation: dict[str, Any]) -> None:
    value = operation.get("value")
    if operation.get("path") == "":
        if not isinstance(value, dict | list):
            raise _NotApplicableError("the root must be an object")
        document.holder[0] = value
        return
    _overwrite(*document.find(operation.get("path")), value)


def _move(document: _Document, operation: dict[str, Any]) -> None:
    value = _take(*document.find(operation.get("from")))
    _put(*document.find(operation.get("path")), value)


def _copy(document: _Document, operation: dict[str, Any]) -> None:
    value = document.copy_of(_get(*document.find(operation.get("from"))))
    _put(*document.find(operation.get("path")), value)


def _test(document: _Document, operation: dict[str, Any]) -> None:
    path = operation.get("path")
    found = document.holder[0] if path == "" else _get(*document.find(path))
    if not _equal(found, operation.get("value")):
        raise _NotApplicableError("test failed")


def _equal(found: Any, wanted: Any) -> bool:
    """Equality in which 1 is neither 1.0 nor true. The cost is limited by the patch's value."""
    if type(found) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        return len(found) == len(wanted) and all(
            name in found and _equal(found[name], inner) for name, inner in wanted.items()
        )
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_equal, found, wanted))
    return bool(found == wanted)


def _unknown(document: _Document, operation: dict[str, Any]) -> NoReturn:
    raise _NotApplicableError("unexpected kind of operation")


_OPERATIONS: Final = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
