# SPDX-License-Identifier: Apache-2.0
"""Validates the values of a custom object against its schema, with kube-apiserver's messages.

A schema is compiled once into closures, sorted by the JSON type they apply to, so that only relevant checks run. A
check collects `Problem`s and returns how much of the value it recognised: of several failed alternatives kube-apiserver
reports the one that matched most. Transition and list-type rules are elsewhere (`cel`, `lists`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final

from springtide.api import field_errors
from springtide.api.field_errors import FieldError
from springtide.local.schema.formats import format_check
from springtide.local.schema.paths import Path, Problem, written
from springtide.local.schema.regex import TooManyStepsError, compile_go

Schema = Mapping[str, Any]
Problems = list[Problem]
Check = Callable[[Any, Path, Problems], int]

_JSON_TYPES: Final[Mapping[type, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}
_PLAIN_TYPES: Final = frozenset({"string", "integer", "number", "boolean"})
_PLAIN_KEYS: Final = frozenset({"type", "nullable", "description", "title", "default", "example", "externalDocs"})
_NUMBER_FORMATS: Final = ("int32", "int64", "float", "double")
NOWHERE: Final = "<nil>"  # kube-apiserver's path where it has lost the position


def compile_checks(schema: Schema) -> Check:
    """A function that checks one value and all below it against a schema."""
    if schema.keys() <= _PLAIN_KEYS and schema.get("type") in _PLAIN_TYPES:
        return _plain_check(schema["type"], schema.get("nullable", False))
    return _compiled(schema)


@cache
def _plain_check(type_: str, nullable: bool) -> Check:
    """Checks shared by the many positions that are just a string or a number."""
    return _compiled({"type": type_, "nullable": nullable})


def _compiled(schema: Schema) -> Check:
    types = _types(schema)
    by_type = _checks_by_type(schema, types)
    null_is_wrong = bool(types) and not schema.get("nullable", False)
    enum = _enum(schema)

    def check(value: Any, path: Path, problems: Problems) -> int:
        if value is None:
            if null_is_wrong:
                problems.append(_wrong_type(path, ",".join(types), "null"))
            return enum(value, path, problems) if enum else 1
        score = 1
        for part in by_type[type(value)]:
            score += part(value, path, problems)
        return score

    return check


def _types(schema: Schema) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def _checks_by_type(schema: Schema, types: tuple[str, ...]) -> dict[type, tuple[Check, ...]]:
    """The checks for a value, by its JSON type and in kube-apiserver's order."""
    alternatives, enum, number = _alternatives(schema), _enum(schema), _number(schema)
    own: dict[type, tuple[Check | None, ...]] = {
        str: (alternatives, _string(schema), _format(schema), enum),
        int: (alternatives, number, enum),
        float: (alternatives, number, enum),
        bool: (alternatives, enum),
        list: (alternatives, _array(schema), enum),
        dict: (alternatives, enum, _object(schema)),
    }
    return {
        python: tuple(part for part in (_type_check(python, schema, types), *parts) if part is not None)
        for python, parts in own.items()
    }


def _problem(path: Path, value: Any, detail: str) -> Problem:
    place = written(path)
    return Problem(path, field_errors.invalid(place, value, f"{place} in body {detail}"))


def _wrong_type(path: Path, wanted: str, found: str) -> Problem:
    place = written(path)
    detail = f'{place} in body must be of type {wanted}: "{found}"'
    return Problem(path, field_errors.type_invalid(place, found, detail))


def _nowhere(path: Path, detail: str) -> Problem:
    return Problem(path, FieldError("FieldValueInvalid", NOWHERE, f'Invalid value: "": {detail}'))


def _type_check(python: type, schema: Schema, types: tuple[str, ...]) -> Check | None:
    found = _JSON_TYPES[python]
    if not types or found in types or (found == "integer" and "number" in types):
        return None
    formatted = format_check(schema.get("format", "")) if "string" in types else None
    if python is list and formatted and "integer" not in types:
        return None  # kube-apiserver does not check the type here
    wanted = ",".join(types)
    if schema.get("format") in _NUMBER_FORMATS and python not in (str, list):
        # Here kube-apiserver compares formats, and only numbers have one.
        wanted, found = schema["format"], {int: "int64", float: "float64"}.get(python, "")

    def check(value: Any, path: Path, problems: Problems) -> int:
        problems.append(_wrong_type(path, wanted, found))
        return 0

    def check_float(value: float, path: Path, problems: Problems) -> int:
        return 1 if value.is_integer() else check(value, path, problems)

    return check_float if python is float and "integer" in types else check


def _string(schema: Schema) -> Check | None:
    longest, shortest = schema.get("maxLength"), schema.get("minLength")
    pattern: str = schema.get("pattern") or ""
    if longest is None and shortest is None and not pattern:
        return None

    def check(value: str, path: Path, problems: Problems) -> int:
        if longest is not None and len(value) > longest:
            problems.append(Problem(path, field_errors.too_long(written(path), longest)))
        elif shortest is not None and len(value) < shortest:
            problems.append(_problem(path, value, f"should be at least {shortest} chars long"))
        elif pattern:
            match_pattern(value, path, problems)
        return 1

    def match_pattern(value: str, path: Path, problems: Problems) -> None:
        try:
            if not compile_go(pattern).matches(value):
                problems.append(_problem(path, value, f"should match '{pattern}'"))
        except TooManyStepsError as error:
            problems.append(_problem(path, value, f"cannot be matched with '{pattern}', which {error}"))

    return check


def _format(schema: Schema) -> Check | None:
    name = schema.get("format", "")
    fits = format_check(name) if schema.get("type", "string") == "string" else None
    if fits is None:
        return None

    def check(value: str, path: Path, problems: Problems) -> int:
        if not fits(value):
            problems.append(_wrong_format(path, value, name))
        return 1

    return check


def _wrong_format(path: Path, value: str, name: str) -> Problem:
    place = written(path)
    detail = f"{place} in body must be of type {name}: {field_errors.shown(value)}"
    return Problem(path, field_errors.type_invalid(place, value, detail))


def _number(schema: Schema) -> Check | None:
    parts = [part for part in (_range(schema), _multiple(schema), _bound(schema, "min"), _bound(schema, "max")) if part]
    if not parts:
        return None

    def check(value: int | float, path: Path, problems: Problems) -> int:
        for part in parts:
            part(value, path, problems)
        return 1

    return check


def _range(schema: Schema) -> Check | None:
    if schema.get("type") != "integer":
        return None
    format_ = schema.get("format", "")
    limit = 2**31 if format_ == "int32" else 2**63
    kind = f"with format {format_}" if format_ in ("int32", "int64") else "(default format)"

    def check(value: int | float, path: Path, problems: Problems) -> int:
        if not (-limit <= value < limit) or int(value) != value:
            problems.append(_nowhere(path, f"Checked value must be of type integer {kind} in {written(path)}"))
        return 1

    return check


def _multiple(schema: Schema) -> Check | None:
    factor = schema.get("multipleOf")
    if factor is None:
        return None

    def check(value: int | float, path: Path, problems: Problems) -> int:
        # For an integer kube-apiserver also truncates the factor to one, and then rejects a factor of 0.
        by = int(factor) if isinstance(value, int) else factor
        place = written(path)
        if by <= 0:
            detail = f"factor MultipleOf declared for {place} must be positive: {by}"
            problems.append(Problem(path, field_errors.invalid(place, by, detail)))
        elif not float(value / by).is_integer():
            problems.append(_problem(path, value, f"should be a multiple of {_plain(factor)}"))
        return 1

    return check


def _bound(schema: Schema, side: str) -> Check | None:
    bound = schema.get(f"{side}imum")
    if bound is None:
        return None
    exclusive = schema.get(f"exclusive{side.capitalize()}imum", False)
    word = "greater than" if side == "min" else "less than"
    detail = f"should be {word} {_plain(bound)}" if exclusive else f"should be {word} or equal to {_plain(bound)}"
    sign = 1 if side == "min" else -1

    def check(value: int | float, path: Path, problems: Problems) -> int:
        distance = (value - bound) * sign
        if distance < 0 or (exclusive and distance == 0):
            problems.append(_problem(path, value, detail))
        return 1

    return check


def _plain(number: int | float) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)


def _array(schema: Schema) -> Check | None:
    items = schema.get("items")
    item = compile_checks(items) if isinstance(items, Mapping) else None
    fewest, most = schema.get("minItems"), schema.get("maxItems")
    if item is None and fewest is None and most is None:
        return None

    def check(values: list[Any], path: Path, problems: Problems) -> int:
        score = 1
        if item is not None:
            for index, value in enumerate(values):
                score += item(value, (path, index), problems)
        if fewest is not None and len(values) < fewest:
            place = written(path)
            detail = f"{place} in body should have at least {fewest} items"
            problems.append(Problem(path, field_errors.invalid(place, len(values), detail)))
        if most is not None and len(values) > most:
            problems.append(Problem(path, field_errors.too_many(written(path), len(values), most)))
        return score

    return check


def _enum(schema: Schema) -> Check | None:
    allowed = schema.get("enum")
    if not allowed:
        return None
    choices = ", ".join(
        f'"{value}"' if isinstance(value, str) else f'"{field_errors.shown(value)}"' for value in allowed
    )

    def check(value: Any, path: Path, problems: Problems) -> int:
        if value is None or not any(_same(value, choice) for choice in allowed):
            message = f"Unsupported value: {field_errors.shown(value)}: supported values: {choices}"
            problems.append(Problem(path, FieldError("FieldValueNotSupported", written(path), message)))
        return 1

    return check


def _same(left: Any, right: Any) -> bool:
    """Equality as in JSON: in Python True equals 1."""
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _object(schema: Schema) -> Check | None:
    properties = {name: compile_checks(inner) for name, inner in schema.get("properties", {}).items()}
    additional = schema.get("additionalProperties")
    other = compile_checks(additional) if isinstance(additional, Mapping) else None
    required: Sequence[str] = tuple(schema.get("required", ()))
    size = _object_size(schema)
    if not (properties or other or required or size):
        return None
    find = properties.get

    def check(value: dict[str, Any], path: Path, problems: Problems) -> int:
        score = 1
        if size is not None:
            size(value, path, problems)
        for name, inner in value.items():
            part = find(name, other)
            if part is not None:
                score += part(inner, (path, name), problems)
        for name in required:
            if name not in value:
                problems.append(Problem(path, field_errors.required(written((path, name)))))
        return score

    return check


def _object_size(schema: Schema) -> Check | None:
    fewest, most = schema.get("minProperties"), schema.get("maxProperties")
    if fewest is None and most is None:
        return None

    def check(value: dict[str, Any], path: Path, problems: Problems) -> int:
        if fewest is not None and len(value) < fewest:
            place = written(path)
            detail = f"{place} in body should have at least {fewest} properties"
            problems.append(Problem(path, field_errors.invalid(place, len(value), detail)))
        if most is not None and len(value) > most:
            problems.append(Problem(path, field_errors.too_many(written(path), len(value), most)))
        return 1

    return check


def _alternatives(schema: Schema) -> Check | None:
    parts = [part for part in (_any_of(schema), _one_of(schema), _all_of(schema), _not(schema)) if part]
    if not parts:
        return None

    def check(value: Any, path: Path, problems: Problems) -> int:
        return sum(part(value, path, problems) for part in parts)

    return check


def _attempts(checks: Sequence[Check], value: Any, path: Path) -> list[tuple[int, Problems]]:
    return [_attempt(check, value, path) for check in checks]


def _attempt(check: Check, value: Any, path: Path) -> tuple[int, Problems]:
    """Run an alternative; its problems count only if no other alternative matches."""
    problems: Problems = []
    score = 0
    with field_errors.counted(), suppress(field_errors.TooManyErrorsError):
        score = check(value, path, problems)
    return score, problems


def _closest(tried: list[tuple[int, Problems]]) -> Problems:
    """Of several failed alternatives, the problems of the one that recognised most; the first if several did."""
    return max(tried, key=lambda attempt: attempt[0])[1]


def _any_of(schema: Schema) -> Check | None:
    checks = [compile_checks(inner) for inner in schema.get("anyOf") or ()]
    if not checks:
        return None

    def check(value: Any, path: Path, problems: Problems) -> int:
        tried = _attempts(checks, value, path)
        if all(found for _, found in tried):
            problems.append(_nowhere(path, f'"{written(path)}" must validate at least one schema (anyOf)'))
            problems.extend(_closest(tried))
        return max(score for score, _ in tried)

    return check


def _one_of(schema: Schema) -> Check | None:
    checks = [compile_checks(inner) for inner in schema.get("oneOf") or ()]
    if not checks:
        return None

    def check(value: Any, path: Path, problems: Problems) -> int:
        tried = _attempts(checks, value, path)
        valid = sum(not found for _, found in tried)
        if valid != 1:
            tail = f"Found {valid} valid alternatives" if valid else "Found none valid"
            problems.append(_nowhere(path, f'"{written(path)}" must validate one and only one schema (oneOf). {tail}'))
            problems.extend([] if valid else _closest(tried))
        return max(score for score, _ in tried)

    return check


def _all_of(schema: Schema) -> Check | None:
    checks = [compile_checks(inner) for inner in schema.get("allOf") or ()]
    if not checks:
        return None

    def check(value: Any, path: Path, problems: Problems) -> int:
        tried = _attempts(checks, value, path)
        for _, found in tried:
            problems.extend(found)
        failed = sum(bool(found) for _, found in tried)
        if failed:
            tail = ". None validated" if failed == len(checks) else ""
            problems.append(_nowhere(path, f'"{written(path)}" must validate all the schemas (allOf){tail}'))
        return sum(score for score, _ in tried)

    return check


def _not(schema: Schema) -> Check | None:
    if not isinstance(schema.get("not"), Mapping):
        return None
    inner = compile_checks(schema["not"])

    def check(value: Any, path: Path, problems: Problems) -> int:
        found: Problems = []
        inner(value, path, found)
        if not found:
            problems.append(_nowhere(path, f'"{written(path)}" must not validate the schema (not)'))
        return 1

    return check
