# SPDX-License-Identifier: Apache-2.0
"""Generates a CRD's structural schema from the type of a kind.

Types give the structure, `fields.doc` gives descriptions and limits. Only types that kinds use are supported; any other
raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import inspect

Schema = dict[str, Any]


def schema_of(kind: type) -> Schema:
    return _schema(inspect.type_info(kind))


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Schema:
    """Both, merged recursively; of two other values the second."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, Mapping) else value
    return result


def _schema(shape: inspect.Type) -> Schema:
    match shape:
        case inspect.Metadata(type=inner, extra_json_schema=dict(said)):
            return merged(_schema(inner), said)
        case inspect.UnionType(types=types):
            (present,) = (each for each in types if not isinstance(each, inspect.NoneType))
            return _schema(present)
        case inspect.StructType(fields=fields):
            return _object(fields)
        case inspect.DictType(value_type=inspect.AnyType()):
            return {"type": "object"}
        case inspect.DictType(value_type=value):
            return {"type": "object", "additionalProperties": _schema(value)}
        case inspect.VarTupleType(item_type=item):
            return {"type": "array", "items": _schema(item)}
    return dict(_PLAIN[type(shape)])


def _object(fields: tuple[inspect.Field, ...]) -> Schema:
    required = {"required": [each.encode_name for each in fields if each.required]}
    properties = {each.encode_name: _schema(each.type) for each in fields}
    return {"type": "object", "properties": properties} | (required if required["required"] else {})


_PLAIN: Mapping[type[inspect.Type], Schema] = {
    inspect.StrType: {"type": "string"},
    inspect.IntType: {"type": "integer"},
    inspect.BoolType: {"type": "boolean"},
    inspect.DateTimeType: {"type": "string", "format": "date-time"},
}
