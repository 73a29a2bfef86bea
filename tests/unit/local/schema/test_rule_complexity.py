# SPDX-License-Identifier: Apache-2.0
"""No CEL function takes disproportionately long for a long, repetitive string.

The complexity suite (`tests/robustness/complexity`) tries the same functions in a running server.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.robustness.complexity.rule_cases import RULE_TEXTS, STARTS, function_rules, rule_fields, rule_values

from springtide.local.schema.cel import SHORT, TooLong, library, rule_errors
from springtide.local.schema.cel.values import CelError, parse_duration
from springtide.local.schema.compiled import CompiledSchema

MOST = 1.0
"""Seconds of processor time for 50,000 characters. Functions of linear time need milliseconds; the longest is the
compilation of such a pattern, 0.2 s. The quadratic parser of durations, which was here once, needed 40 s."""
EACH = 8
"""Each function reads one value in so many; all functions together read all."""


def schema(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}


def test_every_function_that_reads_strings_has_a_rule_that_the_server_accepts() -> None:
    assert rule_errors(schema(rule_fields()), "schema") == []
    functions = {name.split("-")[0] for name in function_rules()}
    assert {"duration", "timestamp", "quantity", "url", "ip", "cidr", "semver", "matches", "format"} <= functions


@pytest.mark.timeout(300)
def test_every_function_takes_about_as_long_as_the_string_has_characters() -> None:
    slow = []
    values = list(rule_values())
    for number, (field, described) in enumerate(rule_fields().items()):
        compiled = CompiledSchema(schema({field: described}))
        for name, value in values[number % EACH :: EACH]:
            started = time.thread_time()
            compiled.validate({"spec": {field: value}})
            took = time.thread_time() - started
            if took > MOST:
                slow.append(f"{field} of {name}: {took:.1f} s")
    assert slow == []


@pytest.mark.parametrize("sign", RULE_TEXTS.values(), ids=RULE_TEXTS)
def test_durations_of_any_text_are_read_at_once(sign: str) -> None:
    """Two megabytes: even a small quadratic share would take minutes."""
    started = time.thread_time()
    for start in STARTS:
        try:
            parse_duration(start + sign * (2_000_000 // len(sign)))
        except CelError:
            continue
    assert time.thread_time() - started < 20


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h30m", 5400),
        ("-1.5h", -5400),
        ("+.5s", 0.5),
        ("1.s", 1),
        ("0", 0),
        ("-0", 0),
        ("1us2µs3μs", 0.000006),
        ("2562047h", 2562047 * 3600),
    ],
)
def test_durations_are_gos(text: str, seconds: float) -> None:
    assert parse_duration(text).total_seconds() == seconds


@pytest.mark.parametrize(
    "text", ["", "1", "h", "1h ", " 1h", "1hx", "--1h", "+-1h", "1..5h", ".h", "٣h", "9999999h", "1d"]
)
def test_what_is_no_duration_in_go_is_none_here(text: str) -> None:
    with pytest.raises(CelError):
        parse_duration(text)


@pytest.mark.parametrize(
    "name", ["a/" * 25_000 + "a", "../../etc/passwd", "/etc/passwd", "a.b", "a" * 50_000, "\0", ""]
)
def test_the_name_of_a_time_zone_is_looked_up_only_if_it_can_be_one(name: str) -> None:
    """`ZoneInfo` imports a package for each part of a name that it does not find."""
    with pytest.raises(CelError, match="unknown time zone"):
        library._zone(name)


def test_known_time_zones_are_found() -> None:
    for name in ("UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+1", "-01:30"):
        assert library._zone(name) is not None


def test_a_long_pattern_is_not_compiled_on_the_event_loop() -> None:
    rule = {"type": "string", "x-kubernetes-validations": [{"rule": "'a'.matches(self)"}], "maxLength": 50_000}
    with pytest.raises(TooLong):
        CompiledSchema(schema({"p": rule})).validate({"spec": {"p": "(ab)" * 12_000}}, patience=SHORT)
