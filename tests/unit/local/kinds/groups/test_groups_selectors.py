# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from springtide.local.kinds.label_selectors import NOTHING, SelectorError, from_object, parse, parse_fields

KEY_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
EXPECTED_OPERATOR = "expected: in, notin, =, ==, !=, gt, lt"


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a=b", {}, False),
        ("a==b,c", {"a": "b", "c": ""}, True),
        ("a!=b", {}, True),
        ("a!=b", {"a": "b"}, False),
        ("!a", {}, True),
        ("!a", {"a": ""}, False),
        ("a in (b, c)", {"a": "c"}, True),
        ("a in (b,)", {"a": ""}, True),
        ("a in ()", {"a": ""}, True),
        ("a notin (b,c)", {}, True),
        ("a notin (b,c)", {"a": "b"}, False),
        ("a=", {"a": ""}, True),
        ("a>1", {"a": "2"}, True),
        ("a<1", {"a": "2"}, False),
        ("a>1", {"a": "x"}, False),
        ("a>1", {}, False),
        ("in=notin", {"in": "notin"}, True),
        (" a = b , c ", {"a": "b", "c": "d"}, True),
    ],
)
def test_a_selector_text_matches_labels(text: str, labels: dict[str, str], matches: bool) -> None:
    assert parse(text).matches(labels) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("()", "found '(', expected: !, identifier, or 'end of string'"),
        ("===", "found '==', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a b", f"unable to parse requirement: found 'b', {EXPECTED_OPERATOR}"),
        ("a!b", f"unable to parse requirement: found '!', {EXPECTED_OPERATOR}"),
        ("a)", f"unable to parse requirement: found ')', {EXPECTED_OPERATOR}"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a=(b)", "unable to parse requirement: found '(', expected: identifier"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!!a", "unable to parse requirement: found '!', expected: identifier"),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be "
            "an integer",
        ),
        ("-a", f'unable to parse requirement: <nil>: Invalid value: "-a": name part {KEY_RULE}'),
        (
            "x/=b",
            'unable to parse requirement: <nil>: Invalid value: "x/": name part must be non-empty; '
            f"name part {KEY_RULE}",
        ),
    ],
)
def test_a_selector_text_that_makes_no_sense_is_refused_as_on_kube_apiserver(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as refusal:
        parse(text)
    assert str(refusal.value) == message


def test_a_selector_is_written_in_the_order_of_its_keys() -> None:
    assert str(parse("z,b in (y,x),!a,c!=d,e notin (f)")) == "!a,b in (x,y),c!=d,e notin (f),z"


def test_no_selector_object_selects_nothing_and_an_empty_one_everything() -> None:
    assert from_object(None) is NOTHING
    assert not from_object(None).matches({})
    assert from_object({}).matches({"a": "b"})


def test_a_selector_object_needs_all_its_parts() -> None:
    selector = from_object(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["a", "b"]},
                {"key": "legacy", "operator": "DoesNotExist"},
            ],
        }
    )
    assert str(selector) == "app=web,!legacy,tier in (a,b)"
    assert selector.matches({"app": "web", "tier": "b"})
    assert not selector.matches({"app": "web", "tier": "b", "legacy": "yes"})


def test_an_unknown_operator_is_named() -> None:
    with pytest.raises(SelectorError, match=r'^"Like" is not a valid label selector operator$'):
        from_object({"matchExpressions": [{"key": "a", "operator": "Like"}]})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (",", []),
        ("a=b", [("a", "b", True)]),
        ("a==b", [("a", "b", True)]),
        ("c!=d,a=b", [("a", "b", True), ("c", "d", False)]),
        (r"a=b\,c\=d\\", [("a", "b,c=d\\", True)]),
        ("a=", [("a", "", True)]),
    ],
)
def test_field_selectors_are_read_with_their_escapes(text: str, found: list[tuple[str, str, bool]]) -> None:
    assert [(one.field, one.value, one.equal) for one in parse_fields(text)] == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=b\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_a_field_selector_that_makes_no_sense_is_refused_as_on_kube_apiserver(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as refusal:
        parse_fields(text)
    assert str(refusal.value) == message
