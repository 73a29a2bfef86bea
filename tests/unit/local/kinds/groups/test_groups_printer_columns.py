# SPDX-License-Identifier: Apache-2.0
"""Cells of custom resources; the expectations were read off kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.api.json_paths import JSONPath, PathError
from springtide.local.kinds.printer_columns import MOST_TEXT, compile_columns

NOW = "2026-11-16T02:00:00Z"
FULL = {
    "metadata": {"name": "full", "labels": {"a.b/c": "hey"}, "creationTimestamp": "2026-11-16T01:59:30Z"},
    "spec": {
        "s": "text",
        "i": 5,
        "num": 1.5,
        "b": True,
        "d": "2026-01-01T00:00:00Z",
        "l": ["a", "b", "c"],
        "m": {"k": 1, "deep": "x"},
        "o": [{"x": 1}, {"x": 2, "yy": "a"}, {"x": 3}],
        "big": 1234567.5,
        "z": None,
    },
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
}
ODD = {
    "metadata": {"name": "odd"},
    "spec": {"s": 3, "i": "5", "d": "yesterday", "l": {"a": "b"}, "m": "text", "o": [{"x": "1"}, {"x": 2.5}]},
    "status": {"conditions": []},
}


def cell(path: str, kind: str, obj: dict[str, Any]) -> Any:
    _, cells = compile_columns([{"name": "Column", "type": kind, "jsonPath": path}])
    return cells(obj, NOW)[1]


@pytest.mark.parametrize(
    ("path", "kind", "shown"),
    [
        (".spec.s", "string", "text"),
        (".spec.i", "integer", 5),
        (".spec.i", "string", "5"),
        (".spec.num", "number", 1.5),
        (".spec.num", "integer", 1),
        (".spec.num", "string", "1.5"),
        (".spec.big", "string", "1.2345675e+06"),
        (".spec.b", "boolean", True),
        (".spec.b", "string", "true"),
        (".spec.d", "date", "319d"),
        (".spec.s", "date", "<invalid>"),
        (".metadata.creationTimestamp", "date", "30s"),
        ('.status.conditions[?(@.type=="Ready")].status', "string", "True"),
        (".status.conditions[?(@.type=='Other')].status", "string", "False"),
        (".status.conditions[?(@.type=='Nothing')].status", "string", None),
        (".spec.l", "string", '["a","b","c"]'),
        (".spec.m", "string", '{"deep":"x","k":1}'),
        (".spec.l[0]", "string", "a"),
        (".spec.l[-1]", "string", "c"),
        (".spec.l[9]", "string", None),
        (".spec.l[*]", "string", "a"),
        (".spec.l[1:3]", "string", "b"),
        (".spec.l[1,0]", "string", "b"),
        (".spec.o[?(@.x>1)].x", "integer", 2),
        (".spec.o[?(@.x!=1)].x", "string", "2"),
        (".spec.o[?(@.yy)].x", "string", "2"),
        ('.spec.o[?(@.yy=="a")].x', "string", "2"),
        ("..deep", "string", "x"),
        (".spec..x", "string", "1"),
        (r".metadata.labels.a\.b/c", "string", "hey"),
        (r".metadata.labels['a\.b/c']", "string", "hey"),
        (".spec.z", "string", None),
        (".spec.missing.further", "string", None),
        (".spec.s", "integer", None),
        (".", "string", None),
    ],
)
def test_a_column_shows_what_its_path_leads_to(path: str, kind: str, shown: Any) -> None:
    found = cell(path, kind, FULL)
    assert found == shown
    assert type(found) is type(shown)


@pytest.mark.parametrize(
    ("path", "kind", "shown"),
    [
        (".spec.s", "string", "3"),
        (".spec.i", "integer", None),
        (".spec.i", "date", "<invalid>"),
        (".spec.d", "date", "<invalid>"),
        (".spec.l[0]", "string", None),
        (".spec.l", "string", '{"a":"b"}'),
        (".spec.m.further", "string", None),
        (".spec.o[?(@.x>1)].x", "integer", None),
        ('.status.conditions[?(@.type=="Ready")].status', "string", None),
        ('.spec.m[?(@.type=="Ready")].status', "string", None),
    ],
)
def test_a_value_of_another_kind_makes_an_empty_cell_and_no_error(path: str, kind: str, shown: Any) -> None:
    assert cell(path, kind, ODD) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1000000.0, "1e+06"),
        (100000.5, "100000.5"),
        (3.0, "3"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-3.5, "-3.5"),
        (1e20, "1e+20"),
        (0.0, "0"),
    ],
)
def test_numbers_are_written_as_go_writes_them(value: float, shown: str) -> None:
    assert cell(".value", "string", {"metadata": {"name": "n"}, "value": value}) == shown


def test_without_columns_there_are_name_and_age() -> None:
    columns, cells = compile_columns(None)
    assert [(column.name, column.type) for column in columns] == [("Name", "string"), ("Age", "date")]
    assert list(cells(FULL, NOW)) == ["full", "30s"]
    assert list(cells({"metadata": {"name": "fresh"}}, NOW)) == ["fresh", None]


def test_a_column_says_what_it_is_about() -> None:
    columns, _ = compile_columns(
        [
            {"name": "A", "type": "string", "jsonPath": ".a"},
            {"name": "B", "type": "string", "jsonPath": ".b", "description": "hello", "priority": 1},
        ]
    )
    assert columns[1].description == "Custom resource definition column (in JSONPath format): .a"
    assert (columns[2].description, columns[2].priority) == ("hello", 1)


def test_columns_end_before_a_path_that_cannot_be_read() -> None:
    columns, cells = compile_columns(
        [
            {"name": "A", "type": "string", "jsonPath": ".spec.s"},
            {"name": "B", "type": "string", "jsonPath": ".spec[?(@.x=="},
        ]
    )
    assert [column.name for column in columns] == ["Name", "A"]
    assert list(cells(FULL, NOW)) == ["full", "text"]


@pytest.mark.parametrize("path", [".a[", ".a[x]", ".a[?(@.b", ".....a", ".a[-]"])
def test_a_path_that_cannot_be_read_is_an_error(path: str) -> None:
    with pytest.raises(PathError):
        JSONPath(path)


def nested(depth: int) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = {"a": [value]}
    return value


@pytest.mark.parametrize(
    "path",
    [
        ".lists" + "[0,0]" * 60,
        ".lists" + "[*,*]" * 60,
        ".deep" + "..a" * 60,
        ".deep" + "..[*]" * 60,
        ".many" + "[*,*]" * 60,
        ".many[?(@.x==1)]" * 60,
        '.many[?(@..x=="a")]',
        ".wide" + ".*" * 60,
    ],
)
def test_a_path_that_multiplies_values_leads_nowhere(path: str) -> None:
    """Not within a table of hours."""
    lists: Any = "bottom"
    for _ in range(60):
        lists = [lists, lists] if not isinstance(lists, list) else [lists]
    obj = {
        "metadata": {"name": "n"},
        "lists": lists,
        "deep": nested(60),
        "many": [{"x": {"x": "a"}}] * 20_000,
        "wide": {str(number): {"a": number} for number in range(20_000)},
    }
    columns, cells = compile_columns([{"name": "Column", "type": "string", "jsonPath": path}])
    assert len(columns) == 2
    assert list(cells(obj, NOW)) == ["n", None]


def test_the_cells_of_a_row_have_a_length_together() -> None:
    obj = {"metadata": {"name": "n"}, "text": "x" * 100_000}
    columns = [{"name": f"C{number}", "type": "string", "jsonPath": ".text"} for number in range(100)]
    _, cells = compile_columns(columns)
    shown = [value for value in cells(obj, NOW)[1:] if value is not None]
    assert 1 <= len(shown) <= 10


def test_columns_end_where_their_paths_are_too_long_together() -> None:
    definitions = [{"name": "A", "type": "string", "jsonPath": ".a" * 100}] * 1000
    columns, _ = compile_columns(definitions)
    assert len(columns) == 1 + MOST_TEXT // 200
