# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.local.patches import json_patch
from springtide.local.status import StatusError

DOC: dict[str, Any] = {"data": {"x": "1", "y": "2"}, "list": ["a", "b", "c"], "deep": {"a/b": {"~": 1}}}
SPARSE = "the server rejected our request due to an error in our request"


def op(kind: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": kind, "path": path, **more}


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        pytest.param([op("add", "/data/z", value="3")], {"data": {"x": "1", "y": "2", "z": "3"}}, id="add a key"),
        pytest.param([op("add", "/data/z")], {"data": {"x": "1", "y": "2", "z": None}}, id="add without a value"),
        pytest.param([op("add", "/list/-", value="d")], {"list": ["a", "b", "c", "d"]}, id="append"),
        pytest.param([op("add", "/list/1", value="d")], {"list": ["a", "d", "b", "c"]}, id="insert"),
        pytest.param([op("add", "/list/-1", value="d")], {"list": ["a", "b", "c", "d"]}, id="insert from the end"),
        pytest.param(
            [op("replace", "/data/z", value="q")], {"data": {"x": "1", "y": "2", "z": "q"}}, id="replace adds"
        ),
        pytest.param([op("replace", "/list/-1", value="q")], {"list": ["a", "b", "q"]}, id="replace the last"),
        pytest.param([op("remove", "/list/0")], {"list": ["b", "c"]}, id="remove an item"),
        pytest.param([op("remove", "/deep/a~1b/~0")], {"deep": {"a/b": {}}}, id="escaped steps"),
        pytest.param([op("move", "/data/z", **{"from": "/data/x"})], {"data": {"y": "2", "z": "1"}}, id="move"),
        pytest.param(
            [op("copy", "/data/z", **{"from": "/nosuch"})], {"data": {"x": "1", "y": "2", "z": None}}, id="copy nothing"
        ),
        pytest.param(
            [op("copy", "/l", **{"from": "/list"}), op("remove", "/l/0")], {"l": ["b", "c"]}, id="copies are apart"
        ),
        pytest.param([op("test", "/data/zz", value=None)], {}, id="missing is null"),
        pytest.param([op("test", "", value=DOC)], {}, id="test the whole"),
        pytest.param(None, {}, id="null is an empty patch"),
    ],
)
def test_operations_that_apply(operations: Any, expected: dict[str, Any]) -> None:
    target = copy.deepcopy(DOC)
    assert json_patch.apply(target, operations) == DOC | expected
    assert target == DOC


def test_the_root_may_be_replaced_by_an_object() -> None:
    assert json_patch.apply(DOC, [op("replace", "", value={"a": 1})]) == {"a": 1}


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(op("frob", "/data/x"), id="unknown kind"),
        pytest.param({"path": "/data/x"}, id="no kind"),
        pytest.param({"op": "add", "value": "1"}, id="no path"),
        pytest.param(op("add", "/nope/x", value="1"), id="missing parent"),
        pytest.param(op("add", "/data/x/y", value="1"), id="scalar parent"),
        pytest.param(op("add", "", value={}), id="add the root"),
        pytest.param(op("add", "/list/9", value="1"), id="index too large"),
        pytest.param(op("add", "/list/x", value="1"), id="index no number"),
        pytest.param(op("remove", "/list/-9"), id="index too small"),
        pytest.param(op("remove", "/data/zz"), id="remove missing"),
        pytest.param(op("replace", "/list/3", value=1), id="replace past the end"),
        pytest.param(op("replace", "", value=1), id="root to scalar"),
        pytest.param(op("move", "/data/z", **{"from": "/data/qq"}), id="move missing"),
        pytest.param(op("test", "/data/x", value="q"), id="test fails"),
        pytest.param(op("test", "/deep/a~1b/~0", value=True), id="one is not true"),
        pytest.param(op("test", "", value={}), id="test of the root fails"),
    ],
)
def test_an_operation_that_does_not_apply_is_a_sparse_422(operation: dict[str, Any]) -> None:
    with pytest.raises(StatusError) as caught:
        json_patch.apply(DOC, [operation])
    assert (caught.value.code, caught.value.reason, caught.value.message) == (422, "Invalid", SPARSE)


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"op": "add"}, "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (["a"], "json: cannot unmarshal string into Go value of type handlers.jsonPatchOp"),
        (
            [op("add", "/a") | {"path": 3}],
            "json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string",
        ),
    ],
)
def test_a_body_that_is_no_json_patch_is_a_bad_request(patch: Any, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        json_patch.apply(DOC, patch)
    assert (caught.value.code, caught.value.message) == (400, f"error decoding patch: {message}")


def test_ten_thousand_operations_are_enough() -> None:
    operations = [op("test", "/data/x", value="1")] * 10_000
    assert json_patch.apply(DOC, operations) == DOC
    with pytest.raises(StatusError) as caught:
        json_patch.apply(DOC, [*operations, operations[0]])
    assert caught.value.code == 413
    assert caught.value.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


names = st.sampled_from(["a", "b", "/", "~", "0"])
json_values = st.recursive(
    st.sampled_from([None, True, 0, 1, "a"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(names, below, max_size=3),
    max_leaves=5,
)
pointers = st.lists(st.sampled_from(["a", "b", "~1", "~0", "0", "-", "-1"]), max_size=3).map("/".join).map("/".__add__)
operations = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"])},
        optional={"path": pointers, "from": pointers, "value": json_values},
    ),
    max_size=4,
)


@given(st.dictionaries(names, json_values, max_size=3), operations)
def test_no_patch_changes_its_target_or_fails_in_an_unforeseen_way(target: dict[str, Any], patch: list[Any]) -> None:
    before = copy.deepcopy((target, patch))
    code = 0
    try:
        json_patch.apply(target, patch)
    except StatusError as error:
        code = error.code
    assert code in (0, 422)
    assert (target, patch) == before


LIMIT = 3 * 1024 * 1024


def a_copy(name: str) -> list[dict[str, Any]]:
    return [{"op": "copy", "from": "/data/k", "path": f"/data/{name}"}, op("remove", f"/data/{name}")]


@pytest.mark.parametrize(("length", "fits"), [(LIMIT // 4 - 2, True), (LIMIT // 4 - 1, False)])
def test_copies_add_three_mebibytes_at_most(length: int, fits: bool) -> None:
    """The bound to the byte, as kube-apiserver 1.36.3 has it: what is removed again counts, too."""
    patch = [step for number in range(4) for step in a_copy(f"k{number}")]
    target = {"data": {"k": "x" * length}}
    if fits:
        assert json_patch.apply(target, patch) == target
    else:
        with pytest.raises(StatusError, match=SPARSE) as refused:
            json_patch.apply(target, patch)
        assert refused.value.code == 422


def test_a_copy_bomb_is_refused_before_it_expands() -> None:
    bomb = [op("add", "/a", value={"x": "y" * 1000})]
    bomb += [{"op": "copy", "from": "/a", "path": f"/a/{number}"} for number in range(100)]
    with pytest.raises(StatusError, match=SPARSE):
        json_patch.apply({}, bomb)


def test_copies_into_themselves_stay_readable() -> None:
    bomb = [op("add", "/a", value={})] + [{"op": "copy", "from": "/a", "path": "/a/a"}] * 9_999
    with pytest.raises(StatusError, match=SPARSE):
        json_patch.apply({}, bomb)


def test_a_copy_and_its_original_are_changed_apart() -> None:
    patch = [{"op": "copy", "from": "/data", "path": "/twin"}, op("add", "/twin/z", value="3"), op("remove", "/data/x")]
    patched = json_patch.apply(DOC, patch)
    assert (patched["data"], patched["twin"]) == ({"y": "2"}, {"x": "1", "y": "2", "z": "3"})


def test_ten_thousand_operations_on_a_long_list_and_a_large_map_take_no_longer_than_both() -> None:
    target: dict[str, Any] = {"list": list(range(300_000)), "map": {str(each): each for each in range(300_000)}}
    patch = [op("test", f"/map/{number}", value=number) for number in range(3_000)]
    patch += [op("replace", f"/list/{number}", value=0) for number in range(3_000)]
    patch += [op("add", f"/map/x{number}", value=0) for number in range(3_000)]
    patched = json_patch.apply(target, patch)
    assert (patched["list"][2_999], patched["list"][3_000], len(patched["map"])) == (0, 3_000, 303_000)
    assert (target["list"][1], len(target["map"])) == (1, 300_000)


@pytest.mark.parametrize(
    ("found", "wanted"), [(1, 1.0), (1, True), ([1], [True]), ({"a": None}, {"b": None}), ({"a": 1}, {"a": 1, "b": 2})]
)
def test_what_is_not_the_same_json_fails_a_test(found: Any, wanted: Any) -> None:
    with pytest.raises(StatusError, match=SPARSE):
        json_patch.apply({"a": found}, [op("test", "/a", value=wanted)])
