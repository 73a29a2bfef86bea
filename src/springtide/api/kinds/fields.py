# SPDX-License-Identifier: Apache-2.0
"""Building blocks of typed kinds: the names, descriptions and schemas of fields.

A field's type decides how it is decoded. `doc` holds the description and the rest of the schema; only
`springtide.api.schema` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from msgspec import Meta, Struct


class Wire(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A part of an object on the wire. Unknown fields are ignored."""


def doc(text: str = "", schema: Mapping[str, Any] | None = None, **keywords: Any) -> Meta:
    """The description of a field in `kubectl explain`, and its schema in the CRD beyond its type."""
    return Meta(description=text or None, extra_json_schema={**(schema or {}), **keywords})


def one_of(choices: type[StrEnum]) -> dict[str, Any]:
    return {"enum": [choice.value for choice in choices]}


def rules(
    *each: tuple[str, str] | tuple[str, str, str] | tuple[str, str, str, str] | Mapping[str, str],
) -> dict[str, Any]:
    """CEL rules: the expression that must hold, the error message, and optionally the path below this field that the
    error names, and the reason of the error. A rule with other fields is written as in the CRD."""
    names = ("rule", "message", "fieldPath", "reason")
    written = [rule if isinstance(rule, Mapping) else dict(zip(names, rule, strict=False)) for rule in each]
    return {"x-kubernetes-validations": written}


IMMUTABLE: Final = rules(("self == oldSelf", "field is immutable"))

ANYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}

Int32 = Annotated[int, doc(format="int32")]
Int64 = Annotated[int, doc(format="int64")]

_CONTAINER = {"type": "object", "required": ["name", "image"], **ANYTHING}
_CONTAINERS = {
    "type": "array",
    "description": "The containers of the pods; the first one trains. See kubectl explain pod.spec.containers.",
    "minItems": 1,
    "items": _CONTAINER,
}
_POD_SPEC = {
    "type": "object",
    "description": "The spec of the pods, with all fields of a pod's own; see kubectl explain pod.spec.",
    "required": ["containers"],
    "properties": {"containers": _CONTAINERS},
    **ANYTHING,
}
_POD_METADATA = {
    "type": "object",
    "description": "Labels and annotations of the pods. Their names are chosen by the operator.",
    **ANYTHING,
}

PodTemplate = Annotated[
    dict[str, Any],
    doc(
        "The template of this role's pods, as in a Deployment or Job.",
        ANYTHING,
        required=["spec"],
        properties={"spec": _POD_SPEC, "metadata": _POD_METADATA},
    ),
]
"""A raw mapping that keeps unknown fields: the API server validates pods."""

_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_QUANTITY = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$",
    "x-kubernetes-int-or-string": True,
}

ResourceList = Annotated[dict[str, Any], doc(additionalProperties=_QUANTITY)]
