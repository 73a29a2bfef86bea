# SPDX-License-Identifier: Apache-2.0
"""JSON patch (RFC 6902) with the habits of the library behind kube-apiserver.

Those habits: `replace` of a missing map key adds it, `copy` of a missing one writes null, a missing `value` is null,
indices may count from the end. Every operation that does not apply gives the same sparse 422. The patch verb decodes
the body and calls `apply`. Only containers on an operation's path are copied; target and patch are never changed.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import msgspec

from springtide.local.patches.conformity import json_kind
from springtide.local.status import StatusError, bad_request

MAX_OPERATIONS: Final = 10_000

_Container = dict[str, Any] | list[Any]


class _NotApplicableError(Exception):
    """The operation does not fit the document."""


def apply(target: dict[str, Any], patch: Any) -> Any:
    """The patched document (any JSON value, if the root was replaced). Raises StatusError 400, 413 or 422."""
    operations = _operations(patch)
    # The list around the document gives its root a parent like any other value has.
    holder: list[Any] = [target]
    try:
        for operation in operations:
            _OPERATIONS.get(operation.get("op", ""), _unknown)(holder, operation)
    except _NotApplicableError as error:
        raise StatusError(
            422, "Invalid", "the server rejected our request due to an error in our request", {}
        ) from error
    return holder[0]


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


def _find(holder: list[Any], path: Any) -> tuple[_Container, str]:
    """The container a path leads into, made our own on the way, and the last step."""
    if not isinstance(path, str):
        raise _NotApplicableError("no path")
    steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
    if not steps:
        raise _NotApplicableError("the root has no parent")
    place: _Container = holder
    for step in ("0", *steps[:-1]):
        below = _get(place, step)
        if not isinstance(below, dict | list):
            raise _NotApplicableError(path)
        below = below.copy()
        _overwrite(place, step, below)
        place = below
    return place, steps[-1]


def _overwrite(place: _Container, step: str, value: Any) -> None:
    if isinstance(place, dict):
        place[step] = value
    else:
        place[_index(step, len(place))] = value


def _get(place: _Container, step: str) -> Any:
    """A missing map key reads as null, a missing index does not exist."""
    return place.get(step) if isinstance(place, dict) else place[_index(step, len(place))]


def _index(step: str, size: int) -> int:
    try:
        index = int(step)
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


def _add(holder: list[Any], operation: dict[str, Any]) -> None:
    _put(*_find(holder, operation.get("path")), operation.get("value"))


def _remove(holder: list[Any], operation: dict[str, Any]) -> None:
    _take(*_find(holder, operation.get("path")))


def _replace(holder: list[Any], operation: dict[str, Any]) -> None:
    value = operation.get("value")
    if operation.get("path") == "":
        if not isinstance(value, dict | list):
            raise _NotApplicableError("the root must be an object")
        holder[0] = value
        return
    _overwrite(*_find(holder, operation.get("path")), value)


def _move(holder: list[Any], operation: dict[str, Any]) -> None:
    value = _take(*_find(holder, operation.get("from")))
    _put(*_find(holder, operation.get("path")), value)


def _copy(holder: list[Any], operation: dict[str, Any]) -> None:
    value = _get(*_find(holder, operation.get("from")))
    _put(*_find(holder, operation.get("path")), value)


def _test(holder: list[Any], operation: dict[str, Any]) -> None:
    path = operation.get("path")
    found = holder[0] if path == "" else _get(*_find(holder, path))
    if _encoded(found) != _encoded(operation.get("value")):
        raise _NotApplicableError("test failed")


def _encoded(value: Any) -> bytes:
    """For an equality in which 1 is neither 1.0 nor true."""
    return msgspec.json.encode(value, order="sorted")


def _unknown(holder: list[Any], operation: dict[str, Any]) -> NoReturn:
    raise _NotApplicableError("unexpected kind of operation")


_OPERATIONS: Final = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
