# SPDX-License-Identifier: Apache-2.0
"""What is wrong with one field of an object, in the words Kubernetes uses.

Validation functions collect these and raise nothing: a user who made three mistakes wants to hear of three.
Paths are plain strings (`spec.containers[0].image`, `metadata.labels[app]`), built with f-strings by the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class FieldError:
    """One cause of an `Invalid` answer: `reason` goes on the wire, `message` is what people read."""

    reason: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


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
    """The value as Kubernetes quotes it: strings in quotes, objects as JSON, nothing as null."""
    return msgspec.json.encode(value).decode()
