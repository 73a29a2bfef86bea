# SPDX-License-Identifier: Apache-2.0
"""kube-apiserver's rules for the schemas inside a CustomResourceDefinition.

The CRD's strategy calls `crd_schema_errors` when a CRD is created or its spec changes; names, versions and the rest of
the CRD are not checked here. A schema without errors can be passed to `CompiledSchema`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Final

from springtide.api.field_errors import FieldError, forbidden, invalid, required
from springtide.local.schema import structural
from springtide.local.schema.cel import rule_errors
from springtide.local.schema.paths import ROOT, Problem
from springtide.local.schema.prune import prune_value
from springtide.local.schema.structural_rules import structural_errors
from springtide.local.schema.validate import NOWHERE, compile_checks

Schema = Mapping[str, Any]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_META: Final = frozenset({"metadata", "kind", "apiVersion"})
_ALLOWED_AT_ROOT: Final = (
    "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations]"
)
_ROOT_KEYS: Final = frozenset(name[0].lower() + name[1:] for name in _ALLOWED_AT_ROOT[1:-1].split()) | {
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
}


def crd_schema_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    """Errors in the schemas of all versions in a CRD's `spec`, with kube-apiserver's paths."""
    versions = spec.get("versions") or []
    schemas = [(version.get("schema") or {}).get("openAPIV3Schema") for version in versions]
    statuses = ["status" in (version.get("subresources") or {}) for version in versions]
    if schemas and schemas[0] is not None and all(schema == schemas[0] for schema in schemas):
        # kube-apiserver stores a schema shared by all versions above them, and uses that path.
        return schema_errors(schemas[0], "spec.validation.openAPIV3Schema", any(statuses))
    found: list[FieldError] = []
    for index, (schema, has_status) in enumerate(zip(schemas, statuses, strict=True)):
        place = f"spec.versions[{index}].schema.openAPIV3Schema"
        if schema is None:
            found.append(required(place, "schemas are required"))
        else:
            found += schema_errors(schema, place, has_status)
    return found


def schema_errors(schema: Schema, path: str, has_status: bool = False, with_rules: bool = True) -> list[FieldError]:
    """Errors in one schema; `path` is its path in the CRD.

    On an update the rules are checked by `updated_rule_errors`.
    """
    return _value_errors(schema, path, has_status) or (rule_errors(schema, path) if with_rules else [])


def updated_rule_errors(schema: Schema, path: str, stored: Schema) -> list[FieldError]:
    """Errors in the rules of a schema that replaces a stored one."""
    if schema == stored or _value_errors(schema, path):
        return []  # errors in the schema itself are reported by `schema_errors`
    return rule_errors(schema, path, stored)


def _value_errors(schema: Schema, path: str, has_status: bool = False) -> list[FieldError]:
    """Errors in everything except the rules."""
    found = list(_root_errors(schema, path, has_status))
    if _is_plain(schema):
        found += structural_errors(schema, path) or list(_default_errors(schema, path, is_resource=True))
    found += _openapi_errors(schema, path, _Context(is_root=True))
    return found


def _is_plain(schema: Schema) -> bool:
    """Whether the schema is free of keywords that exclude a structural schema; those are reported elsewhere."""
    if any(schema.get(key) for key in _UNSUPPORTED) or isinstance(schema.get("items"), list):
        return False
    return all(_is_plain(inner) for inner in _below(schema))


def _below(schema: Schema) -> Iterator[Schema]:
    """The schemas one level below."""
    for word in ("allOf", "oneOf", "anyOf"):
        yield from schema.get(word) or ()
    yield from (schema.get("properties") or {}).values()
    yield from (
        inner for word in ("not", "items", "additionalProperties") if isinstance(inner := schema.get(word), Mapping)
    )


def _root_errors(schema: Schema, path: str, has_status: bool) -> Iterator[FieldError]:
    if has_status and any(value and key not in _ROOT_KEYS for key, value in schema.items()):
        detail = "fields are allowed at the root of the schema if the status subresource is enabled"
        yield invalid(path, schema, f"only {_ALLOWED_AT_ROOT} {detail}")
    if schema.get("nullable"):
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")


@dataclass(frozen=True, slots=True)
class _Context:
    """Properties that a position inherits from those above it."""

    is_root: bool = False
    no_defaults: str = ""
    """Why a default is forbidden here; empty: it is allowed."""
    inside_metadata: bool = False


def _openapi_errors(schema: Schema, path: str, context: _Context) -> Iterator[FieldError]:
    yield from _plain_errors(schema, path, context)
    below = replace(context, is_root=False)
    yield from _property_errors(schema, path, context)
    for word in ("allOf", "oneOf", "anyOf"):
        for index, inner in enumerate(schema.get(word) or ()):
            yield from _openapi_errors(inner, f"{path}.{word}[{index}]", below)
    for word in ("not", "items"):
        if isinstance(schema.get(word), Mapping):
            yield from _openapi_errors(schema[word], f"{path}.{word}", below)
    yield from _map_type_errors(schema, path)
    yield from _list_type_errors(schema, path)
    if schema.get("x-kubernetes-list-type") == "map":
        yield from _map_list_errors(schema, path)
    yield from _key_errors(schema, path)


def _plain_errors(schema: Schema, path: str, context: _Context) -> Iterator[FieldError]:
    type_ = schema.get("type", "")
    if type_ and type_ not in _TYPES:
        yield _unsupported(f"{path}.type", type_, _TYPES)
    if schema.get("default") is not None and context.no_defaults:
        yield forbidden(f"{path}.default", f"must not be set {context.no_defaults}")
    for key in _UNSUPPORTED:
        if schema.get(key):
            yield forbidden(f"{path}.{key}", f"{key} is not supported")
    if type_ == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if context.inside_metadata and schema.get("x-kubernetes-embedded-resource"):
        yield forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", detail)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")


def _property_errors(schema: Schema, path: str, context: _Context) -> Iterator[FieldError]:
    additional, properties = schema.get("additionalProperties"), schema.get("properties") or {}
    below = replace(context, is_root=False)
    if additional is not None and properties and additional is not True:
        detail = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", detail)
    if isinstance(additional, Mapping):
        inner = below
        if context.inside_metadata:
            inner = replace(below, no_defaults="inside additionalProperties applying to object metadata")
        yield from _openapi_errors(additional, f"{path}.additionalProperties", inner)
    for name, property_ in properties.items():
        inner = below
        if name in _META and (context.is_root or schema.get("x-kubernetes-embedded-resource")):
            inner = replace(below, inside_metadata=True)
            if context.is_root:
                inner = replace(inner, no_defaults=f"in top-level {name}")
        yield from _openapi_errors(property_, f"{path}.properties[{name}]", inner)


def _unsupported(path: str, value: Any, allowed: tuple[str, ...]) -> FieldError:
    """Like `field_errors.not_supported`, with the choices in kube-apiserver's order."""
    choices = ", ".join(f'"{choice}"' for choice in allowed)
    return FieldError("FieldValueNotSupported", path, f'Unsupported value: "{value}": supported values: {choices}')


def _must_be(schema: Schema, path: str, type_: str, key: str) -> Iterator[FieldError]:
    if schema.get(key) is not None and schema.get("type") != type_:
        detail = f"must be {type_} if {key} is specified"
        found = schema.get("type")
        yield invalid(f"{path}.type", found, detail) if found else required(f"{path}.type", detail)


def _map_type_errors(schema: Schema, path: str) -> Iterator[FieldError]:
    key = "x-kubernetes-map-type"
    yield from _must_be(schema, path, "object", key)
    if schema.get(key) not in (None, "atomic", "granular"):
        yield _unsupported(f"{path}.{key}", schema[key], ("atomic", "granular"))


def _list_type_errors(schema: Schema, path: str) -> Iterator[FieldError]:
    key, keys = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
    list_type, items = schema.get(key), schema.get("items")
    wrong = list(_must_be(schema, path, "array", key))
    yield from wrong
    if not wrong and list_type == "set" and isinstance(items, Mapping):
        detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
        if items.get("type") == "array" and items.get(key, "atomic") != "atomic":
            yield invalid(f"{path}.items.{key}", items[key], detail)
        if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
            yield invalid(f"{path}.items.x-kubernetes-map-type", None, detail)
    if list_type not in (None, "atomic", "set", "map"):
        yield _unsupported(f"{path}.{key}", list_type, ("atomic", "set", "map"))
    if schema.get(keys) and list_type != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield required(f"{path}.{key}", detail) if list_type is None else invalid(f"{path}.{key}", list_type, detail)


def _map_list_errors(schema: Schema, path: str) -> Iterator[FieldError]:
    key = "x-kubernetes-list-map-keys"
    names, items = schema.get(key) or [], schema.get("items")
    if not names:
        yield required(f"{path}.{key}", "must not be empty if x-kubernetes-list-type is map")
    if not isinstance(items, Mapping):
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
        return
    if items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", items.get("type", ""), detail)
        return
    first = {name: index for index, name in reversed(list(enumerate(names)))}
    for index, name in enumerate(names):
        inner = items.get("properties", {}).get(name)
        if inner is None:
            yield invalid(f"{path}.{key}", names, "entries must all be names of item properties")
        elif inner.get("type") in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(f"{path}.items.properties[{name}].type", "object", detail)
        if first[name] < index:
            yield invalid(f"{path}.{key}", names, "must not contain duplicate entries")


def _key_errors(schema: Schema, path: str) -> Iterator[FieldError]:
    """The keys of list items must always be present."""
    list_type, items = schema.get("x-kubernetes-list-type"), schema.get("items")
    if list_type not in ("set", "map") or not isinstance(items, Mapping):
        return
    if items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {list_type}")
    for name in (schema.get("x-kubernetes-list-map-keys") or ()) if list_type == "map" else ():
        inner = items.get("properties", {}).get(name)
        place, why = f"{path}.items.properties[{name}]", "this property is in x-kubernetes-list-map-keys, so it"
        if inner is None:
            continue
        if name not in items.get("required", ()) and inner.get("default") is None:
            yield required(f"{place}.default", f"{why} must have a default or be a required property")
        if inner.get("nullable"):
            yield forbidden(f"{place}.nullable", f"{why} cannot be nullable")


def _default_errors(schema: Schema, path: str, is_resource: bool = False) -> Iterator[FieldError]:
    """Defaults must themselves be valid by the schema."""
    default = schema.get("default")
    is_resource = is_resource or schema.get("x-kubernetes-embedded-resource", False)
    if default is not None:
        yield from _misfit_default(schema, default, f"{path}.default", is_resource)
    if isinstance(schema.get("items"), Mapping):
        yield from _default_errors(schema["items"], f"{path}.items")
    for name, inner in schema.get("properties", {}).items():
        if not (is_resource and name in _META):
            yield from _default_errors(inner, f"{path}.properties[{name}]")


def _misfit_default(schema: Schema, default: Any, path: str, is_resource: bool) -> Iterator[FieldError]:
    if prune_value(deepcopy(default), structural.position(schema)):
        yield invalid(path, default, "must not have unknown fields")
    if is_resource and isinstance(default, Mapping):
        yield from (required(f"{path}.{name}") for name in ("apiVersion", "kind") if name not in default)
    problems: list[Problem] = []
    compile_checks(schema)(default, ROOT, problems)
    for problem in problems:
        field = problem.error.field
        yield replace(problem.error, field=path if field in ("", NOWHERE) else f"{path}.{field}")
