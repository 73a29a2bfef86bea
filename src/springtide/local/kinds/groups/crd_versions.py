# SPDX-License-Identifier: Apache-2.0
"""The versions inside a CustomResourceDefinition: names, schemas, subresources, columns and field selectors.

Errors name fields as kube-apiserver does, which merges what all versions share before validation: an equal schema in
every version is `spec.validation`, a different one `spec.versions[1].schema`. Called by `apiextensions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from springtide.api.field_errors import FieldError, duplicate, invalid, required, too_many
from springtide.local.kinds import names
from springtide.local.kinds.strategy import Obj
from springtide.local.schema.cel import LONG_RULES, rule_length
from springtide.local.schema.crd_rules import schema_errors, updated_rule_errors
from springtide.local.schema.formats import format_check

_COLUMN_TYPES = "boolean,date,integer,number,string"
_COLUMN_FORMATS = "byte,date,date-time,double,float,int32,int64,password"
_MAX_SELECTABLE_FIELDS = 8
_SCALE_PATHS = (
    ("specReplicasPath", (".spec.",), "should be a json path under .spec"),
    ("statusReplicasPath", (".status.",), "should be a json path under .status"),
    ("labelSelectorPath", (".spec.", ".status."), "should be a json path under either .spec or .status"),
)


class _Versions:
    """The versions of a CRD, and the fields that they all share."""

    def __init__(self, spec: Obj) -> None:
        self.given: Sequence[Obj] | None = spec.get("versions")
        self.all: Sequence[Obj] = self.given or ()
        self.shared = {
            field
            for field in _PER_VERSION
            if all(self._value(version, field) == self._first(field) for version in self.all)
        }

    def _value(self, version: Obj, field: str) -> Any:
        return version.get(field) or None

    def _first(self, field: str) -> Any:
        return self._value(self.all[0], field)

    def places(self, field: str) -> Iterable[tuple[str, Obj]]:
        """Where to validate a field: the paths, each with the version that has its value."""
        if field in self.shared:
            # A shared schema must be valid for the version with a status, if any has one.
            fullest = max(self.all, key=_has_status, default=None)
            return [] if fullest is None else [(f"spec.{_PER_VERSION[field]}", fullest)]
        return [(f"spec.versions[{index}].{field}", version) for index, version in enumerate(self.all)]

    def quoted(self) -> list[Obj] | None:
        """The versions with the field names of the Go type, as kube-apiserver shows them."""
        if self.given is None:
            return None
        return [
            {
                "Name": version.get("name", ""),
                "Served": version.get("served", False),
                "Storage": version.get("storage", False),
                "Deprecated": version.get("deprecated", False),
                "DeprecationWarning": version.get("deprecationWarning"),
                "Schema": self._own(version, "schema"),
                "Subresources": self._own(version, "subresources"),
                "AdditionalPrinterColumns": self._own(version, "additionalPrinterColumns"),
                "SelectableFields": self._own(version, "selectableFields"),
            }
            for version in self.all
        ]

    def _own(self, version: Obj, field: str) -> Any:
        return None if field in self.shared else self._value(version, field)


_PER_VERSION = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}


def _has_status(version: Obj) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _schema(version: Obj) -> Obj | None:
    schema: Obj | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return schema


def validate_versions(spec: Obj, is_update: bool = False) -> list[FieldError]:
    """All errors; on an update without those in rules."""
    versions = _Versions(spec)
    errors = [
        required(f"spec.versions[{index}].schema.openAPIV3Schema")
        for index, version in enumerate(versions.all)
        if _schema(version) is None
    ]
    for index, version in enumerate(versions.all):
        errors += _validate_version(version, index)
    errors += _validate_together(versions)
    for path, version in versions.places("schema"):
        errors += _validate_schema(version, path, with_rules=not is_update)
    for field, validate in _FIELD_RULES.items():
        for path, version in versions.places(field):
            errors += validate(version, path)
    return errors


def validate_updated_rules(spec: Obj, before: Obj) -> list[FieldError]:
    """Errors in rules that an update changes. Stored rules are not rejected again."""
    stored = {version.get("name"): _schema(version) or {} for version in before.get("versions") or ()}
    errors: list[FieldError] = []
    for path, version in _Versions(spec).places("schema"):
        schema = _schema(version)
        if schema is not None and schema not in stored.values():
            replaced = stored.get(version.get("name"), {})
            errors += updated_rule_errors(schema, f"{path}.openAPIV3Schema", replaced)
    return errors


def has_long_rules(spec: Obj) -> bool:
    """Whether compiling all rules would block the event loop too long."""
    schemas = [_schema(version) or {} for version in spec.get("versions") or ()]
    return sum(map(rule_length, schemas)) > LONG_RULES


def _validate_version(version: Obj, index: int) -> list[FieldError]:
    path, name = f"spec.versions[{index}]", version.get("name", "")
    errors: list[FieldError] = []
    if complaints := names.dns_1035_label(name):
        errors.append(invalid(f"{path}.name", name, ",".join(complaints)))
        if index == 0:  # in kube-apiserver also the CRD's own version
            errors.append(invalid("spec.version", name, ",".join(complaints)))
    return errors + _validate_deprecation(version, f"{path}.deprecationWarning")


def _validate_together(versions: _Versions) -> list[FieldError]:
    called = [version.get("name", "") for version in versions.all]
    errors: list[FieldError] = []
    if len(set(called)) < len(called):
        errors.append(invalid("spec.versions", versions.quoted(), "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions.all) != 1:
        detail = "must have exactly one version marked as storage version"
        errors.append(invalid("spec.versions", versions.quoted() or [], detail))
    return errors


def _validate_deprecation(version: Obj, path: str) -> list[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    if not version.get("deprecated"):
        return [invalid(path, warning, "can only be set for deprecated versions")]
    errors: list[FieldError] = []
    if len(warning.encode()) > 256:
        errors.append(invalid(path, warning, "must be <= 256 characters long"))
    if not warning:
        errors.append(invalid(path, warning, "must not be an empty string"))
    strange = next((index for index, letter in enumerate(warning) if not letter.isprintable()), None)
    if strange is not None:
        found = f"non-printable character found at index {len(warning[:strange].encode())}"
        errors.append(invalid(path, warning, f"must only contain printable UTF-8 characters; {found}"))
    return errors


# ------------------------------------------------------------------------------- subresources, columns, field selectors


def _validate_schema(version: Obj, path: str, with_rules: bool) -> list[FieldError]:
    schema = _schema(version)
    return [] if schema is None else schema_errors(schema, f"{path}.openAPIV3Schema", _has_status(version), with_rules)


def _validate_subresources(version: Obj, path: str) -> list[FieldError]:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return []
    path = f"{path}.scale"
    errors: list[FieldError] = []
    for field, prefixes, otherwise in _SCALE_PATHS:
        text = scale.get(field) or ""
        if not text:
            if field != "labelSelectorPath":
                errors.append(required(f"{path}.{field}"))
        elif not text.startswith("."):
            errors.append(invalid(f"{path}.{field}", text, "must be a simple json path starting with ."))
        elif not text.startswith(prefixes):
            errors.append(invalid(f"{path}.{field}", text, otherwise))
    return errors


def _validate_columns(version: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        errors += _validate_column(column, f"{path}[{index}]")
    return errors


def _validate_column(column: Obj, path: str) -> list[FieldError]:
    kind, layout, json_path = column.get("type", ""), column.get("format", ""), column.get("jsonPath", "")
    errors = [] if column.get("name") else [required(f"{path}.name")]
    if not kind:
        errors.append(required(f"{path}.type", f"must be one of {_COLUMN_TYPES}"))
    elif kind not in _COLUMN_TYPES.split(","):
        errors.append(invalid(f"{path}.type", kind, f"must be one of {_COLUMN_TYPES}"))
    if layout and layout not in _COLUMN_FORMATS.split(","):
        errors.append(invalid(f"{path}.format", layout, f"must be one of {_COLUMN_FORMATS}"))
    if not json_path:
        errors.append(required(f"{path}.JSONPath"))
    elif not json_path.startswith("."):
        errors.append(invalid(f"{path}.JSONPath", json_path, "must be a simple json path starting with ."))
    return errors


def _validate_selectable_fields(version: Obj, path: str) -> list[FieldError]:
    fields, schema = version.get("selectableFields") or (), _schema(version)
    if not fields:
        return []
    if schema is None:
        shared = "may only be set when validations.schema is included"
        own = "may only be set when `version.schema.openAPIV3Schema` is not included"
        return [invalid(path, "", shared if path == "spec.selectableFields" else own)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, entry in enumerate(fields):
        field, text = f"{path}[{index}].jsonPath", entry.get("jsonPath", "")
        if not text:
            errors.append(required(field))
            continue
        try:
            found = _follow(text, schema)
        except ValueError as error:
            errors.append(invalid(field, text, f"is an invalid path: {error}"))
            continue
        if text.startswith((".metadata.", ".metadata[")) or text == ".metadata":
            errors.append(invalid(field, text, "must not point to fields in metadata"))
        if found.get("type") not in ("string", "boolean", "integer"):
            detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with "
            errors.append(invalid(field, text, f"{detail}formats are allowed."))
        if text in seen:
            errors.append(duplicate(field, text))
        seen.add(text)
    if len(seen) > _MAX_SELECTABLE_FIELDS:
        errors.append(too_many(path, len(seen), _MAX_SELECTABLE_FIELDS))
    return errors


def _follow(text: str, schema: Obj) -> Obj:
    """The schema at a path such as `.spec.colour`; ValueError gives the reason why there is none."""
    start, *steps = text.split(".")
    if start:
        raise ValueError("array notation is not allowed" if start[0] == "[" else f"expected [ or . but got: {start}")
    for step in steps:
        name, bracket, _ = step.partition("[")
        if not step:
            raise ValueError("unexpected end of JSON path" if step is steps[-1] else "does not refer to a valid field")
        properties, additional = schema.get("properties"), schema.get("additionalProperties")
        following = additional if properties is None else properties.get(name)
        if not isinstance(following, dict):
            raise ValueError("does not refer to a valid field")
        if bracket:
            raise ValueError("array notation is not allowed")
        schema = following
    return schema


# ----------------------------------------------------------------------------------------------------------- warnings

_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}
_MAPS = ("properties", "patternProperties", "definitions")
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("items", "additionalProperties", "additionalItems", "not")


def unrecognized_formats(spec: Obj) -> list[str]:
    """Formats that are not checked, which deserve a warning: often they are misspelt."""
    found: list[str] = []
    for _, version in _Versions(spec).places("schema"):
        for schema in _subschemas(_schema(version) or {}):
            layout = schema.get("format")
            if layout and not _recognizes(schema.get("type", ""), layout):
                found.append(layout)
    return found


def _subschemas(schema: Obj) -> Iterator[Obj]:
    yield schema
    below = [schema.get(key) for key in _SINGLE]
    below += [inner for key in _MAPS for inner in (schema.get(key) or {}).values()]
    below += [inner for key in _LISTS for inner in schema.get(key) or ()]
    for inner in below:
        if isinstance(inner, dict):
            yield from _subschemas(inner)


def _recognizes(kind: str, layout: str) -> bool:
    if kind in ("", "string"):
        return format_check(layout) is not None
    return layout in _NUMBER_FORMATS.get(kind, ())


_FIELD_RULES: Mapping[str, Callable[[Obj, str], list[FieldError]]] = {
    "subresources": _validate_subresources,
    "additionalPrinterColumns": _validate_columns,
    "selectableFields": _validate_selectable_fields,
}
