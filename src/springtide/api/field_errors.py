# SPDX-License-Identifier: Apache-2.0
"""Errors of single fields, in Kubernetes' wording.

Validation functions collect these and raise nothing, so that a user sees all errors at once. Paths are plain strings
(`spec.containers[0].image`, `metadata.labels[app]`), built with f-strings by the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeVarTuple

import msgspec

Arguments = TypeVarTuple("Arguments")

MOST_ERRORS: Final = 1000
MOST_TEXT: Final = 1024 * 1024
"""The limits of errors, and of the characters of all their messages, per validation. kube-apiserver has no such
limits."""
LONGEST_VALUE: Final = 1024
LONGEST_MESSAGE: Final = 256 * 1024
"""The limits in characters of a quoted value and of a whole message; the rest is cut off."""


class TooManyErrorsError(Exception):
    """More errors, or longer ones, were found than the limits allow."""


class Found:
    """The errors created so far inside `counted` or `collected`."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self._room = MOST_TEXT

    def add(self, error: FieldError) -> None:
        if len(self.errors) >= MOST_ERRORS or self._room < 0:
            raise TooManyErrorsError
        self.errors.append(error)
        self._room -= len(error.field) + len(error.message)


_found: ContextVar[Found | None] = ContextVar("field errors found", default=None)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One cause of an `Invalid` response: `reason` is machine-readable, `message` is for users."""

    reason: str
    field: str
    message: str

    def __post_init__(self) -> None:
        if len(self.field) > LONGEST_VALUE:
            object.__setattr__(self, "field", cut(self.field, LONGEST_VALUE))
        if len(self.message) > LONGEST_MESSAGE:
            object.__setattr__(self, "message", cut(self.message, LONGEST_MESSAGE))
        found = _found.get()
        if found is not None:
            found.add(self)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def cut(text: str, longest: int = LONGEST_VALUE) -> str:
    """The part of a user's text that a message quotes."""
    return text if len(text) <= longest else f"{text[:longest]}..."


@contextmanager
def counted() -> Iterator[Found]:
    """Errors created inside are counted and collected; the first one beyond the limits raises TooManyErrorsError."""
    found = Found()
    token = _found.set(found)
    try:
        yield found
    finally:
        _found.reset(token)


def collected(validate: Callable[[*Arguments], list[FieldError]], *arguments: *Arguments) -> list[FieldError]:
    """The errors of a validation; if there are too many, the first ones and a last one that states so."""
    found = Found()
    token = _found.set(found)  # not with `counted`: this runs for every write, and a generator costs microseconds
    try:
        return validate(*arguments)
    except TooManyErrorsError:
        pass
    finally:
        _found.reset(token)
    why = f"Too many: more problems were found than are listed; correct these {len(found.errors)} first"
    return [*found.errors, FieldError("FieldValueTooMany", "<nil>", why)]


def required(field: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", field, "Required value" + (f": {detail}" if detail else ""))


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", field, f"Invalid value: {shown(value)}" + (f": {detail}" if detail else ""))


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", field, f"Invalid value: {shown(value)}: {detail}")


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", field, f"Duplicate value: {shown(value)}")


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, f"Forbidden: {detail}")


def not_found(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueNotFound", field, f"Not found: {shown(value)}")


def not_supported(field: str, value: Any, allowed: Sequence[str]) -> FieldError:
    """`allowed` is listed in the order given: Kubernetes sorts some lists and not others."""
    choices = ", ".join(f'"{choice}"' for choice in allowed)
    return FieldError(
        "FieldValueNotSupported", field, f"Unsupported value: {shown(value)}: supported values: {choices}"
    )


def too_long(field: str, limit: int) -> FieldError:
    return FieldError("FieldValueTooLong", field, f"Too long: may not be more than {limit} bytes")


def too_many(field: str, actual: int, limit: int) -> FieldError:
    return FieldError("FieldValueTooMany", field, f"Too many: {actual}: must have at most {limit} items")


def shown(value: Any) -> str:
    """The value in Kubernetes' format: strings in quotes, objects as JSON, None as null; a long one is cut."""
    short, left = _shortened(value, LONGEST_VALUE)
    return msgspec.json.encode(short).decode() + ("..." if left < 0 else "")


def _shortened(value: Any, room: int) -> tuple[Any, int]:
    """The part of the value that fits, and the room that is left: negative if any part was left out.

    Nothing beyond the room is examined: a thousand errors may quote the same megabyte.
    """
    if isinstance(value, str):
        return (value, room - len(value)) if len(value) <= room else (value[:room], -1)
    if isinstance(value, dict):
        out: dict[str, Any] = {}
        for key, inner in value.items():
            if room < 0:
                break
            name, room = _shortened(key, room)
            out[name], room = _shortened(inner, room - 1)
        return out, room
    if isinstance(value, list | tuple):
        items: list[Any] = []
        for inner in value:
            if room < 0:
                break
            item, room = _shortened(inner, room - 1)
            items.append(item)
        return items, room
    return value, room - 1
