# SPDX-License-Identifier: Apache-2.0
"""Checks that a CRD's schema is structural: every position has a type, and value rules only restrict.

Part of `crd_rules`; takes a decoded JSONSchemaProps and a field path as text, and returns kube-apiserver's errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from springtide.api.field_errors import FieldError, forbidden, invalid, required
from springtide.local.schema.regex import GoRegexError, TooManyStepsError, budget, compile_go

Schema = Mapping[str, Any]

_ROOT, _ITEM, _FIELD = "root", "item", "field"
_NO_TYPE: Final = {
    _ROOT: "must not be empty at the root",
    _ITEM: "must not be empty for specified array items",
    _FIELD: "must not be empty for specified object fields",
}
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_NESTED: Final = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
"""Keywords that value rules under anyOf and similar keywords must not use."""


def structural_errors(schema: Schema, path: str) -> list[FieldError]:
    """Everything that keeps the schema from being structural, in kube-apiserver's order (by text)."""
    with budget():
        found = [*_position(schema, _ROOT, path), *_complete(schema, schema, path, path)]
    return sorted(found, key=str)


def _position(schema: Schema, level: str, path: str) -> Iterator[FieldError]:
    """Check a position of the object and all below it."""
    if schema.get("type") == "array" and schema.get("items") is None:
        yield required(f"{path}.items", "must be specified")
    if isinstance(schema.get("items"), Mapping):
        yield from _position(schema["items"], _ITEM, f"{path}.items")
    for name, inner in schema.get("properties", {}).items():
        yield from _position(inner, _FIELD, f"{path}.properties[{name}]")
    additional = schema.get("additionalProperties")
    if additional is not None and level == _ROOT:
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(additional, Mapping):
        yield from _position(additional, _FIELD, f"{path}.additionalProperties")
    yield from _extensions(schema, path)
    yield from _value_rules(schema, path, _skips(schema))
    yield from _type(schema, level, path)
    yield from _metadata(schema, level, path)


def _extensions(schema: Schema, path: str) -> Iterator[FieldError]:
    if not schema.get("x-kubernetes-int-or-string"):
        return
    for key in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
        if schema.get(key):
            yield invalid(f"{path}.{key}", True, "must be false if x-kubernetes-int-or-string is true")


def _type(schema: Schema, level: str, path: str) -> Iterator[FieldError]:
    type_ = schema.get("type", "")
    embedded = schema.get("x-kubernetes-embedded-resource", False)
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if embedded and type_ != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(f"{path}.type", type_, detail) if type_ else required(f"{path}.type", detail)
    elif not type_ and not free:
        yield required(f"{path}.type", _NO_TYPE[level])
    if embedded and schema.get("additionalProperties") is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden(f"{path}.additionalProperties", detail)
    if level == _ROOT and type_ and type_ != "object":
        yield invalid(f"{path}.type", type_, "must be object at the root")
    if embedded and not free and not schema.get("properties"):
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        yield required(f"{path}.properties", detail)


def _metadata(schema: Schema, level: str, path: str) -> Iterator[FieldError]:
    """A resource's metadata may be restricted only in its names."""
    properties = schema.get("properties", {})
    is_resource = level == _ROOT or schema.get("x-kubernetes-embedded-resource", False)
    for name in ("kind", "apiVersion"):
        if is_resource and name in properties and properties[name].get("type") != "string":
            yield invalid(f"{path}.properties[{name}].type", properties[name].get("type", ""), "must be string")
    if "metadata" not in properties:
        return
    metadata = properties["metadata"]
    if is_resource and metadata.get("type") != "object":
        yield invalid(f"{path}.properties[metadata].type", metadata.get("type", ""), "must be object")
    if level == _ROOT:
        restricted = set(metadata.get("properties", {})) <= {"name", "generateName"}
        if not restricted or set(metadata) - {"type", "properties", "default"}:
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(f"{path}.properties[metadata]", detail)


def _skips(schema: Schema) -> str:
    """The keyword of the int-or-string pattern, whose alternatives may name types."""
    if schema.get("anyOf") == _INT_OR_STRING:
        return "anyOf"
    all_of = schema.get("allOf") or [{}]
    return "allOf" if all_of[0].get("anyOf") == _INT_OR_STRING else ""


def _value_rules(schema: Schema, path: str, skip: str = "") -> Iterator[FieldError]:
    for word in ("anyOf", "allOf", "oneOf"):
        if word == "anyOf" and skip == "anyOf":
            continue
        for index, inner in enumerate(schema.get(word) or ()):
            inner_skip = "anyOf" if word == "allOf" and skip == "allOf" and index == 0 else ""
            yield from _nested(inner, f"{path}.{word}[{index}]", inner_skip)
    if isinstance(schema.get("not"), Mapping):
        yield from _nested(schema["not"], f"{path}.not")
    pattern = schema.get("pattern")
    if pattern:
        try:
            compile_go(pattern)
        except GoRegexError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield invalid(f"{path}.pattern", pattern, detail)
        except TooManyStepsError:
            detail = (
                "must compile to a smaller program: the patterns of one schema may have 4000000 instructions in all"
            )
            yield invalid(f"{path}.pattern", pattern, detail)


def _nested(schema: Schema, path: str, skip: str = "") -> Iterator[FieldError]:
    yield from _value_rules(schema, path, skip)
    if isinstance(schema.get("items"), Mapping):
        yield from _nested(schema["items"], f"{path}.items")
    for name, inner in schema.get("properties", {}).items():
        yield from _nested(inner, f"{path}.properties[{name}]")
    for key, detail in _NESTED:
        if schema.get(key):
            yield forbidden(f"{path}.{key}", detail)
    if "metadata" in schema.get("properties", {}):
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _complete(rules: Schema, schema: Schema, path: str, rules_path: str) -> Iterator[FieldError]:
    """Value rules may refer only to positions that the schema itself defines."""
    for word in ("allOf", "anyOf", "oneOf"):
        for index, inner in enumerate(rules.get(word) or ()):
            yield from _covered(inner, schema, path, f"{rules_path}.{word}[{index}]")
    if isinstance(rules.get("not"), Mapping):
        yield from _covered(rules["not"], schema, path, f"{rules_path}.not")


def _covered(rules: Schema, schema: Schema, path: str, rules_path: str) -> Iterator[FieldError]:
    yield from _complete(rules, schema, path, rules_path)
    if isinstance(rules.get("items"), Mapping):
        if isinstance(schema.get("items"), Mapping):
            yield from _covered(rules["items"], schema["items"], f"{path}.items", f"{rules_path}.items")
        else:
            yield required(f"{path}.items", f"because it is defined in {rules_path}.items")
    known = schema.get("properties", {})
    for name, inner in rules.get("properties", {}).items():
        place, rules_place = f"{path}.properties[{name}]", f"{rules_path}.properties[{name}]"
        if name in known:
            yield from _covered(inner, known[name], place, rules_place)
        else:
            yield required(place, f"because it is defined in {rules_place}")
