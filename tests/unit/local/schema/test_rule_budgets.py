# SPDX-License-Identifier: Apache-2.0
"""Rules cost no more than they may: when a CRD is written, when an object is, and while an expression is read.

Which CRDs and objects kube-apiserver refuses is recorded in the contract suite (`rules.yaml`).
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from springtide.local.apiserver.encoding.codecs import CustomCodec
from springtide.local.kinds.groups.crd_versions import validate_updated_rules, validate_versions
from springtide.local.schema.cel import SHORT, TooLong
from springtide.local.schema.compiled import CompiledSchema
from springtide.local.schema.crd_rules import schema_errors

NUMBERS = {"type": "array", "items": {"type": "integer"}}
NESTED = "self.l.all(x, self.l.all(y, x <= y + 1))"
STRINGS = {"s": {"type": "string"}, "t": {"type": "string"}}


def schema(fields: dict[str, Any], *rules: str) -> dict[str, Any]:
    spec = {"type": "object", "properties": fields, "x-kubernetes-validations": [{"rule": rule} for rule in rules]}
    return {"type": "object", "properties": {"spec": spec}}


def crd_spec(*versions: dict[str, Any]) -> dict[str, Any]:
    names = [f"v{number}" for number in range(1, len(versions) + 1)]
    return {
        "versions": [
            {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": each}}
            for name, each in zip(names, versions, strict=True)
        ]
    }


def verdict(fields: dict[str, Any], rule: str, spec: dict[str, Any]) -> list[str]:
    """What a rule says about an object, whatever its estimate."""
    return [error.message for error in CompiledSchema(schema(fields, rule)).validate({"spec": spec})]


# --- CRDs


def test_a_stored_rule_is_not_refused_anew() -> None:
    stored = crd_spec(schema({"l": NUMBERS}, NESTED))
    assert validate_versions(stored)
    assert validate_updated_rules(stored, stored) == []
    documented = schema({"l": {**NUMBERS, "description": "numbers"}}, NESTED, "self.l.size() > 0")
    assert validate_versions(crd_spec(documented), is_update=True) == []
    assert validate_updated_rules(crd_spec(documented), stored) == []


def test_an_update_may_not_add_an_expensive_rule() -> None:
    stored = crd_spec(schema({"l": NUMBERS}, NESTED))
    added = crd_spec(schema({"l": NUMBERS}, NESTED, "self.l.all(x, self.l.all(y, x < y))"))
    errors = validate_updated_rules(added, stored)
    place = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[1].rule"
    assert (place, True) in [(error.field, "estimated rule cost exceeds budget" in error.message) for error in errors]


def test_a_stored_schema_may_be_copied_to_a_new_version() -> None:
    stored, other = schema({"l": NUMBERS}, NESTED), schema({"s": {"type": "string"}}, "self.s != ''")
    assert validate_updated_rules(crd_spec(other, stored), crd_spec(stored)) == []


def test_an_update_with_a_broken_schema_is_not_estimated() -> None:
    broken = {"type": "object", "properties": {"l": {"type": "array", "items": [{"type": "string"}]}}}
    assert validate_updated_rules(crd_spec(broken), crd_spec(schema({"l": NUMBERS}, NESTED))) == []


def test_all_rules_together_have_a_length() -> None:
    rules = [f"self.s != '{number}{'x' * 9_000}'" for number in range(12)]
    (error,) = schema_errors(schema(STRINGS, *rules), "root")
    assert "more than 100000: shorten them" in error.message
    stored = crd_spec(schema(STRINGS, *rules))
    shortened = crd_spec(schema({**STRINGS, "l": NUMBERS}, *rules[:-1], "self.s != ''"))
    assert validate_updated_rules(shortened, stored) == []
    assert validate_updated_rules(stored, shortened)


def test_rules_of_a_stored_crd_run_whatever_their_estimate() -> None:
    assert schema_errors(schema({"l": NUMBERS}, NESTED), "root")
    assert verdict({"l": NUMBERS}, NESTED, {"l": [1, 2]}) == []
    assert verdict({"l": NUMBERS}, NESTED, {"l": [3, 1]}) == [f"Invalid value: failed rule: {NESTED}"]


# --- objects


@pytest.mark.parametrize(
    ("fields", "rule", "spec"),
    [
        ({"l": NUMBERS}, NESTED, {"l": [1] * 500}),
        ({"l": NUMBERS}, "self.l.all(x, self.l.exists_one(y, false) || true)", {"l": [1] * 1500}),
        ({"l": NUMBERS}, "self.l.all(x, self.l.filter(y, false).size() == 0)", {"l": [1] * 1500}),
        (STRINGS, "self.s.replace('', self.t).size() > 0", {"s": "x" * 100_000, "t": "y" * 100_000}),
        (STRINGS, "'%.999999999f'.format([1.0]).size() > 0", {"s": "", "t": ""}),
        (STRINGS, f"'{'%s' * 300}'.format([{'self.s, ' * 299}self.s]).size() > 0", {"s": "x" * 100_000}),
        ({"l": NUMBERS}, f"({'self.l + ' * 140}self.l).size() > 0", {"l": [1] * 200_000}),
        (STRINGS, f"[1]{'.map(a, [a, a])' * 30} == [1]{'.map(a, [a, a])' * 30}", {"s": ""}),
        (STRINGS, f"[[1]]{'.map(a, [a, a])' * 30}.flatten(40).size() > 0", {"s": ""}),
        (STRINGS, f"'%s'.format([1]{'.map(a, [a, a])' * 30}) == ''", {"s": ""}),
        (STRINGS, "lists.range(2000000).size() > 0", {"s": ""}),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else None,
)
def test_an_evaluation_ends(fields: dict[str, Any], rule: str, spec: dict[str, Any]) -> None:
    (message,) = verdict(fields, rule, spec)
    assert "call cost exceeds limit for rule" in message


def test_all_rules_of_an_object_share_a_budget() -> None:
    rules = [f"sets.contains(self.l, self.l) || self.l.size() == {number}" for number in range(20)]
    errors = CompiledSchema(schema({"l": NUMBERS}, *rules)).validate({"spec": {"l": [1] * 900}})
    detail = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert [error.message for error in errors] == [f'Invalid value: "object": {detail}']


def test_an_object_breaks_a_thousand_rules_at_most() -> None:
    item = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1"}]}
    fields = {"l": {"type": "array", "items": item}}
    errors = CompiledSchema(schema(fields)).validate({"spec": {"l": [1] * 5000}})
    assert len(errors) == 1001
    assert "no further validation rules will be run" in errors[-1].message


def test_lists_without_order_are_compared_in_linear_time() -> None:
    keyed = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "integer"}}},
    }
    numbers = {**NUMBERS, "x-kubernetes-list-type": "set"}
    rules = "self.set == oldSelf.set && self.map == oldSelf.map"
    compiled = CompiledSchema(schema({"set": numbers, "map": keyed}, rules))
    new = {"spec": {"set": [*range(20_000)], "map": [{"k": key} for key in range(5_000)]}}
    old = {"spec": {"set": [*reversed(range(20_000))], "map": [{"k": key} for key in reversed(range(5_000))]}}
    assert compiled.validate(new, old) == []


def test_items_are_matched_with_old_ones_in_linear_time() -> None:
    rule = {"rule": "self.v >= oldSelf.v"}
    fields = {"k": {"type": "integer"}, "v": {"type": "integer"}}
    items = {"type": "object", "required": ["k"], "properties": fields, "x-kubernetes-validations": [rule]}
    listed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "type": "array", "items": items}
    compiled = CompiledSchema(schema({"l": listed}))
    old = {"spec": {"l": [{"k": key, "v": 1} for key in range(20_000)]}}
    new = {"spec": {"l": [{"k": key, "v": 2 if key else 0} for key in reversed(range(20_000))]}}
    assert [error.field for error in compiled.validate(new, old)] == ["spec.l[19999]"]


def test_long_rules_run_beside_the_loop() -> None:
    compiled = CompiledSchema(schema({"l": NUMBERS}, NESTED))
    obj = {"spec": {"l": [1] * 300}}
    with pytest.raises(TooLong):
        compiled.validate(obj, None, SHORT)
    assert compiled.validate({"spec": {"l": [1] * 10}}, None, SHORT) == []

    async def turns_of_the_loop() -> int:
        turns = 0
        validation = asyncio.create_task(CustomCodec("v1", "Thing", compiled).validate(obj, None))
        while not validation.done():
            await asyncio.sleep(0)
            turns += 1
        assert await validation == []
        return turns

    assert asyncio.run(turns_of_the_loop()) > 10


# --- expressions


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("(" * 99_999, "expression recursion limit exceeded"),
        ("[" * 99_999, "expression recursion limit exceeded"),
        ("1+" * 40_000 + "1 > 0", "max recursion depth exceeded"),
        ("true ? true : " * 7_000 + "true", "max recursion depth exceeded"),
        ("self.s" + ".trim()" * 10_000 + " == ''", "max recursion depth exceeded"),
        ("self.l" + "[0]" * 10_000 + " == 0", "max recursion depth exceeded"),
        ("self.s == '" + "x" * 100_000 + "'", "size exceeds limit: size: 100012, limit 100000"),
        ("9" * 90_000 + " > 0", "invalid int literal"),
        ("1e" + "9" * 90_000 + " > 0.0", "invalid double literal"),
        ("'\\U99999999' == ''", "invalid unicode code point"),
        ("'\\ud800' == ''", "invalid unicode code point"),
        ("duration('" + "9" * 90_000 + "h') > duration('1s')", "invalid duration argument"),
        ("timestamp(9223372036854775807) > timestamp(0)", "program instantiation failed"),
        ("'''" + "x" * 90_000, "token recognition error"),
        ("||".join(["nope"] * 15_000), "more errors were truncated"),
        ("-!true", "no viable alternative"),
        ("[dyn(1), 'a'] == []", "expected type 'dyn' but found 'string'"),
    ],
    ids=lambda value: value[:30],
)
def test_what_cannot_be_compiled_is_refused_briefly(text: str, complaint: str) -> None:
    errors = schema_errors(schema({**STRINGS, "l": NUMBERS}, text), "root")
    assert complaint in errors[0].message
    assert len(errors[0].message) < 3 * len(text) + 20_000


@pytest.mark.parametrize(
    "text",
    [
        "||".join(["self.s == 'a'"] * 5_000),
        "!" * 99_000 + "true",
        "--" * 40_000 + "1 > 0",
        "self.s in ['" + "', '".join(map(str, range(10_000))) + "']",
        "[1]" + ".map(a, {a: a})" * 60 + ".size() > 0",
        "[1]" + ".map(a, [a])" * 60 + ".size() > 0",
        "//\n" * 30_000 + "true",
        "'" + "\\101" * 20_000 + "' == ''",
        "true ? true : " * 140 + "true",
    ],
    ids=lambda value: value[:30],
)
def test_long_expressions_are_compiled(text: str) -> None:
    compiled = CompiledSchema(schema({**STRINGS, "l": NUMBERS}, text))
    messages = [error.message for error in compiled.validate({"spec": {"s": "a", "l": [1]}})]
    assert not any("compil" in message for message in messages)


@pytest.mark.parametrize("chained", [".sortBy(e, e)", ".map(e, e)", ".filter(e, true)", ".optMap(e, e)"])
def test_chained_macros_are_compiled_once_each(chained: str) -> None:
    start = "self.?l" if "opt" in chained else "self.l"
    text = f"{start}{chained * 60} == {start}"
    assert schema_errors(schema({"l": NUMBERS}, text), "root")  # exponentially expensive by the estimate, not to read


@pytest.mark.parametrize(
    "rule",
    [
        "timestamp('2020-01-01T00:00:00Z').getHours('+99:99') > 0",
        "timestamp('2020-01-01T00:00:00Z').getHours('America') > 0",
        f"timestamp('2020-01-01T00:00:00Z').getHours('{'x' * 5000}') > 0",
        "timestamp(self.n) > timestamp(0)",
        "duration(self.s) > duration('1s')",
        "isSemver(self.s) && semver(self.s).major() > 0",
        "int(self.s) > 0",
        "{[1]: 1}.size() > self.n",
    ],
)
def test_odd_values_are_errors_of_the_rule(rule: str) -> None:
    fields = {"s": {"type": "string"}, "n": {"type": "integer"}, "b": {"type": "string", "format": "byte"}}
    digits = "9" * 5_000
    for text in (digits, f"{digits}h", f"{digits}.1.1", f"1.1.1-{digits}"):
        assert verdict(fields, rule, {"s": text, "n": 2**62, "b": "%"})
