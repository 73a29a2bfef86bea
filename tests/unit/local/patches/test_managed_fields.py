# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.local.patches.shapes import a_list, a_wid, scalar, struct

from springtide.local.patches.field_sets import excluding
from springtide.local.patches.managed_fields import (
    ManagedFieldsError,
    Writer,
    decode,
    manager_name,
    settle,
    track,
)
from springtide.local.schema.builtin import kind_node

Obj = dict[str, Any]
CONFIG_MAP = kind_node("", "v1", "ConfigMap")
MONDAY, TUESDAY = "2026-11-16T00:00:00Z", "2026-11-17T00:00:00Z"


def a_config_map(**data: str) -> Obj:
    return {"metadata": {"name": "c", "uid": "u"}, "data": data}


def written(old: Obj | None, new: Obj, manager: str = "a", now: str = MONDAY, **more: Any) -> Obj:
    new = copy.deepcopy(new)
    track(old, new, CONFIG_MAP, Writer(manager, "v1", now, **more))
    return new


def entries(obj: Obj) -> list[Obj]:
    found: list[Obj] = obj["metadata"].get("managedFields", [])
    return found


def test_a_creator_owns_what_it_wrote_but_not_what_identifies_the_object() -> None:
    assert entries(written(None, a_config_map(x="1"))) == [
        {
            "manager": "a",
            "operation": "Update",
            "apiVersion": "v1",
            "time": MONDAY,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:x": {}}},
        }
    ]


def test_an_object_with_nothing_to_own_has_no_managed_fields() -> None:
    assert "managedFields" not in written(None, {"metadata": {"name": "c"}})["metadata"]


def test_a_writer_without_a_name_is_unknown() -> None:
    assert entries(written(None, a_config_map(x="1"), manager=""))[0]["manager"] == "unknown"


def test_the_last_writer_owns_a_field_and_the_other_keeps_the_rest() -> None:
    first = written(None, a_config_map(x="1", y="2"))
    second = written(first, a_config_map(x="9", y="2"), "b", TUESDAY)
    assert [(entry["manager"], entry["time"], entry["fieldsV1"]) for entry in entries(second)] == [
        ("a", MONDAY, {"f:data": {".": {}, "f:y": {}}}),
        ("b", TUESDAY, {"f:data": {"f:x": {}}}),
    ]


def test_the_time_changes_only_with_a_change() -> None:
    first = written(None, a_config_map(x="1"))
    same = written(first, a_config_map(x="1"), "b", TUESDAY)
    assert entries(same) == entries(first)
    changed = written(first, a_config_map(x="2"), "a", TUESDAY)
    assert [entry["time"] for entry in entries(changed)] == [TUESDAY]


def test_who_owns_nothing_any_more_is_forgotten() -> None:
    first = written(None, a_config_map(x="1"))
    second = written(first, {"metadata": {"name": "c"}, "binaryData": {"b": "AA=="}}, "b")
    assert [entry["manager"] for entry in entries(second)] == ["b"]


def test_one_manager_has_an_entry_per_version_and_subresource() -> None:
    first = written(None, a_config_map(x="1"))
    second = copy.deepcopy(first)
    second["data"]["y"] = "2"
    track(first, second, CONFIG_MAP, Writer("a", "v2", MONDAY, subresource="status"))
    assert [(entry["apiVersion"], entry.get("subresource")) for entry in entries(second)] == [
        ("v1", None),
        ("v2", "status"),
    ]


def test_what_a_door_cannot_change_is_not_owned_through_it() -> None:
    obj = written(None, a_config_map(x="1") | {"status": {"a": "b"}}, reset=excluding("status"))
    assert entries(obj)[0]["fieldsV1"] == {"f:data": {".": {}, "f:x": {}}}


@pytest.mark.parametrize("sent", [[], [{}]])
def test_a_reset_object_is_tracked_no_longer(sent: list[Obj]) -> None:
    first = written(None, a_config_map(x="1"))
    reset = a_config_map(x="2")
    reset["metadata"]["managedFields"] = sent
    second = written(first, reset, "b")
    assert "managedFields" not in second["metadata"]
    assert "managedFields" not in written(second, a_config_map(x="3"))["metadata"]


def test_a_subresource_cannot_reset() -> None:
    first = written(None, a_config_map(x="1"))
    reset = a_config_map(x="1")
    reset["metadata"]["managedFields"] = []
    assert entries(written(first, reset, subresource="status")) == entries(first)


def test_entries_that_make_no_sense_are_ignored() -> None:
    first = written(None, a_config_map(x="1"))
    odd = a_config_map(x="1")
    odd["metadata"]["managedFields"] = [{"manager": "m", "operation": "Frob"}]
    assert entries(written(first, odd)) == entries(first)


def test_managers_of_a_version_that_is_served_no_longer_are_forgotten() -> None:
    first = written(None, a_config_map(x="1"))
    entries(first)[0]["apiVersion"] = "v0"
    second = written(first, a_config_map(x="1", y="2"), "b", nodes={"v1": CONFIG_MAP})
    assert [entry["manager"] for entry in entries(second)] == ["b"]


def test_managers_of_another_version_lose_what_that_versions_shape_says_changed() -> None:
    plain = struct(metadata=struct(name=scalar()), l=a_list(scalar(), "set"))
    atomic = struct(metadata=struct(name=scalar()), l=a_list(scalar()))
    old: Obj = {"metadata": {"name": "c"}, "l": ["a"]}
    track(None, old, atomic, Writer("old", "g/v1", MONDAY))
    new: Obj = {"metadata": {"name": "c"}, "l": ["a", "b"]}
    track(old, new, plain, Writer("new", "g/v2", MONDAY, nodes={"g/v1": atomic, "g/v2": plain}))
    assert [(entry["manager"], entry["fieldsV1"]) for entry in entries(new)] == [("new", {"f:l": {'v:"b"': {}}})]


def test_a_list_item_without_its_key_leaves_the_object_unowned_until_validation_refuses_it() -> None:
    new: Obj = {"metadata": {"name": "w"}, "spec": {"lm": [{"v": "1"}, "x"]}}
    track(None, new, a_wid(), Writer("a", "pt.io/v1", MONDAY))
    assert "managedFields" not in new["metadata"]


@pytest.mark.parametrize(
    "entry",
    [
        "x",
        {},
        {"operation": "Update"},
        {"operation": "Update", "apiVersion": "v1"},
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV2"},
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"bad": {}}},
    ],
)
def test_bad_entries_are_told_apart(entry: Any) -> None:
    with pytest.raises(ManagedFieldsError):
        decode([entry])


@pytest.mark.parametrize(
    ("asked", "agent", "name"),
    [
        ("mine", "kubectl/v1", "mine"),
        ("", "kubectl/v1.36 (linux)", "kubectl"),
        ("", "plain", "plain"),
        ("", "t\u0007ab/1", "tab"),
        ("", "x" * 200, "x" * 128),
        ("", "", ""),
    ],
)
def test_a_write_is_filed_under_the_manager_or_the_program(asked: str, agent: str, name: str) -> None:
    assert manager_name(asked, agent) == name


def test_a_write_that_changes_only_times_is_settled() -> None:
    old = written(None, a_config_map(x="1"))
    new = copy.deepcopy(old)
    entries(new)[0]["time"] = TUESDAY
    assert settle(old, new)
    assert new == old


@pytest.mark.parametrize("change", [{"data": {"x": "2"}}, {"metadata": {"name": "c", "managedFields": []}}])
def test_a_write_that_changes_more_is_not_settled(change: Obj) -> None:
    old = written(None, a_config_map(x="1"))
    new = copy.deepcopy(old)
    entries(new)[0]["time"] = TUESDAY
    new.update(change)
    assert not settle(old, new)


def test_one_is_not_true() -> None:
    assert not settle({"metadata": {}, "spec": {"free": 1}}, {"metadata": {}, "spec": {"free": True}})


data = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xy"), max_size=4)


@given(st.lists(data, min_size=1, max_size=6))
def test_after_any_history_every_field_has_exactly_one_updater(history: list[dict[str, str]]) -> None:
    obj: Obj | None = None
    for step, content in enumerate(history):
        new = {"metadata": {"name": "c", "uid": "u", "labels": {"k": str(step)}}, "data": content}
        obj = written(obj, new, f"m{step % 3}")
    assert obj is not None
    owned = [name for entry in entries(obj) for name in entry["fieldsV1"].get("f:data", {}) if name != "."]
    assert sorted(owned) == sorted(f"f:{name}" for name in history[-1])
