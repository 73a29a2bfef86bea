# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.local.patches import field_sets
from springtide.local.patches.field_sets import FieldSet, FieldSetError, parse

Paths = frozenset[tuple[str, ...]]


def build(paths: Paths) -> FieldSet:
    whole: FieldSet = {}
    for path in paths:
        node: FieldSet = {}
        for element in reversed(path):
            node = {element: node}
        whole = field_sets.union(whole, node)
    return whole


def members(fields: FieldSet, prefix: tuple[str, ...] = ()) -> Paths:
    out: set[tuple[str, ...]] = set()
    for element, below in fields.items():
        if element == field_sets.SELF:
            continue
        if field_sets.is_member(below):
            out.add((*prefix, element))
        out |= members(below, (*prefix, element))
    return frozenset(out)


elements = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"', "i:0"])
path_sets = st.frozensets(st.lists(elements, min_size=1, max_size=3).map(tuple), max_size=6)


@given(path_sets)
def test_a_set_holds_the_paths_it_was_made_of_and_survives_the_wire(paths: Paths) -> None:
    fields = build(paths)
    assert members(fields) == paths
    assert parse(fields) == fields


@given(path_sets, path_sets)
def test_sets_obey_the_laws_of_sets(left: Paths, right: Paths) -> None:
    a, b = build(left), build(right)
    assert members(field_sets.union(a, b)) == left | right
    assert members(field_sets.difference(a, b)) == left - right
    assert members(field_sets.intersection(a, b)) == left & right
    assert (a, b) == (build(left), build(right))


@given(path_sets, path_sets)
def test_every_set_is_in_canonical_form(left: Paths, right: Paths) -> None:
    a, b = build(left), build(right)
    for fields in (field_sets.union(a, b), field_sets.difference(a, b), field_sets.intersection(a, b)):
        assert fields == build(members(fields))


@given(path_sets, path_sets)
def test_pruning_takes_whole_branches(left: Paths, roots: Paths) -> None:
    kept = frozenset(path for path in left if not any(path[: len(root)] == root for root in roots))
    assert members(field_sets.prune_below(build(left), build(roots))) == kept


def test_a_difference_without_effect_gives_the_very_same_set() -> None:
    fields = build(frozenset({("f:a", "f:b"), ("f:c",)}))
    assert field_sets.difference(fields, {"f:a": {"f:x": {}}}) is fields


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param({"f:a": {".": {}}}, {"f:a": {}}, id="a lone self"),
        pytest.param({'k:{"b": 1, "a":"x"}': {}}, {'k:{"a":"x","b":1}': {}}, id="keys are sorted"),
        pytest.param({"x:later": {}, "f:a": {}}, {"f:a": {}}, id="unknown kinds are dropped"),
        pytest.param({'v:"a<b"': {}}, {'v:"a\\u003cb"': {}}, id="escaped as Go escapes"),
    ],
)
def test_sets_written_by_others_are_tidied(raw: Any, expected: FieldSet) -> None:
    assert parse(raw) == expected


@pytest.mark.parametrize("raw", [[], {"nocolon": {}}, {"f": {}}, {"k:[]": {}}, {"v:{": {}}, {"i:x": {}}, {"f:a": 3}])
def test_what_is_no_set_is_refused(raw: Any) -> None:
    with pytest.raises(FieldSetError):
        parse(raw)


def test_paths_read_as_kubernetes_writes_them_in_its_order() -> None:
    fields: FieldSet = {
        "f:spec": {
            "f:ports": {
                'k:{"port":9,"protocol":"TCP"}': {"f:name": {}},
                'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:x": {}},
            },
            "f:args": {"v:true": {}, 'v:"s"': {}, "v:2": {}, "i:3": {}},
            "f:b": {},
        },
        "f:data": {},
    }
    assert list(field_sets.paths(fields)) == [
        ".data",
        ".spec.b",
        ".spec.args[=2]",
        '.spec.args[="s"]',
        ".spec.args[=true]",
        ".spec.args[3]",
        '.spec.ports[port=80,protocol="TCP"]',
        '.spec.ports[port=9,protocol="TCP"].name',
        '.spec.ports[port=80,protocol="TCP"].x',
    ]


def test_filters_drop_or_keep_branches() -> None:
    fields: FieldSet = {
        "f:spec": {},
        "f:status": {".": {}, "f:x": {}},
        "f:metadata": {"f:labels": {"f:a": {}}, "f:uid": {}},
    }
    rest = field_sets.excluding("status", "metadata.labels")(fields)
    assert rest == {"f:spec": {}, "f:metadata": {"f:uid": {}}}
    assert field_sets.only("status")(fields) == {"f:status": {".": {}, "f:x": {}}}
    assert field_sets.only("nosuch")(fields) == {}
