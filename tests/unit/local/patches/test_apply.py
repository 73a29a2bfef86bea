# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.local.patches.shapes import a_wid

from springtide.local.patches.apply import LAST_APPLIED, apply
from springtide.local.patches.field_sets import paths
from springtide.local.patches.managed_fields import Writer
from springtide.local.schema.builtin import kind_node
from springtide.local.status import StatusError

Obj = dict[str, Any]
CONFIG_MAP = kind_node("", "v1", "ConfigMap")
POD = kind_node("", "v1", "Pod")
WID = a_wid()
MONDAY, TUESDAY = "2026-11-16T00:00:00Z", "2026-11-17T00:00:00Z"


def a_config_map(data: Obj | None = None, **meta: Any) -> Obj:
    obj: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **meta}}
    return obj if data is None else obj | {"data": data}


def applied(live: Obj | None, config: Obj, manager: str = "m1", force: bool = False, now: str = MONDAY) -> Obj:
    return apply(live, config, CONFIG_MAP, Writer(manager, "v1", now, kind="ConfigMap"), force=force)


def owners(obj: Obj) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", [])}


def refusal(live: Obj | None, config: Obj, node: Any = CONFIG_MAP, kind: str = "ConfigMap") -> StatusError:
    with pytest.raises(StatusError) as caught:
        apply(
            live,
            config,
            node,
            Writer("m1", config.get("apiVersion", "v1") if kind == "Wid" else "v1", MONDAY, kind=kind),
        )
    return caught.value


def test_applying_twice_changes_nothing_not_even_the_time() -> None:
    once = applied(None, a_config_map({"x": "1"}))
    assert applied(once, a_config_map({"x": "1"}), now=TUESDAY) == once


def test_a_second_manager_of_the_same_value_shares_it_and_has_no_time() -> None:
    once = applied(None, a_config_map({"x": "1"}))
    both = applied(once, a_config_map({"x": "1"}), "m2", now=TUESDAY)
    assert owners(both) == {"m1": {"f:data": {"f:x": {}}}, "m2": {"f:data": {"f:x": {}}}}
    assert [entry.get("time") for entry in both["metadata"]["managedFields"]] == [None, MONDAY]


def test_another_value_is_a_conflict_and_can_be_forced() -> None:
    live = applied(None, a_config_map({"x": "1", "y": "2"}))
    with pytest.raises(StatusError) as caught:
        applied(live, a_config_map({"x": "9"}), "m2")
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")
    assert caught.value.message == 'Apply failed with 1 conflict: conflict with "m1": .data.x'
    assert caught.value.details == {
        "causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "m1"', "field": ".data.x"}]
    }
    forced = applied(live, a_config_map({"x": "9"}), "m2", force=True)
    assert forced["data"] == {"x": "9", "y": "2"}
    assert owners(forced) == {"m1": {"f:data": {"f:y": {}}}, "m2": {"f:data": {"f:x": {}}}}


def test_several_conflicts_are_listed_by_manager() -> None:
    live = applied(None, a_config_map({"x": "1"}), "zed")
    live = applied(live, a_config_map({"y": "1", "z": "1"}), "al")
    with pytest.raises(StatusError) as caught:
        applied(live, a_config_map({"x": "9", "y": "9", "z": "9"}), "m2")
    assert caught.value.message == (
        'Apply failed with 3 conflicts: conflicts with "al":\n- .data.y\n- .data.z\nconflicts with "zed":\n- .data.x'
    )


def test_an_updater_is_named_with_its_version_and_subresource() -> None:
    live = applied(None, a_config_map({"x": "1"}))
    live["metadata"]["managedFields"][0] |= {"operation": "Update", "subresource": "status"}
    with pytest.raises(StatusError) as caught:
        applied(live, a_config_map({"x": "2"}), "m2")
    assert caught.value.message == (
        'Apply failed with 1 conflict: conflict with "m1" with subresource "status" using v1: .data.x'
    )


def test_what_is_applied_no_longer_goes_unless_someone_else_wants_it() -> None:
    live = applied(None, a_config_map({"x": "1", "y": "2"}))
    live = applied(live, a_config_map({"y": "2"}), "m2")
    assert applied(live, a_config_map({}))["data"] == {"y": "2"}


def test_what_nobody_owns_goes_with_the_field_it_is_in() -> None:
    live = applied(None, a_config_map({"x": "1"}))
    live["data"]["stray"] = "s"
    assert applied(live, a_config_map({"y": "1"}))["data"] == {"stray": "s", "y": "1"}
    assert "data" not in applied(live, a_config_map())


def test_an_untracked_object_belongs_to_before_first_apply() -> None:
    live = a_config_map({"x": "1"}, uid="u")
    with pytest.raises(StatusError) as caught:
        applied(live, a_config_map({"x": "2"}))
    assert caught.value.message.endswith('conflict with "before-first-apply" using v1: .data.x')
    assert "managedFields" not in live["metadata"]
    forced = applied(live, a_config_map({"x": "2"}), force=True)
    assert owners(forced) == {"m1": {"f:data": {"f:x": {}}}, "before-first-apply": {"f:data": {}}}


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"kind": "Secret"}, 400, "invalid object type: /v1, Kind=Secret"),
        ({"apiVersion": "apps/v1"}, 400, "invalid object type: apps/v1, Kind=ConfigMap"),
        ({"metadata": {"name": "a", "managedFields": []}}, 400, "metadata.managedFields must be nil"),
        ({"bogus": 1}, 400, ".bogus: field not declared in schema"),
        ({"data": {"x": 1}}, 400, ".data.x: expected string, got &value.valueUnstructured{Value:1}"),
        (
            {"data": {"x": {"a": ["b"]}}},
            400,
            ".data.x: expected string, got "
            '&value.valueUnstructured{Value:map[string]interface {}{"a":[]interface {}{"b"}}}',
        ),
        ({"data": [1]}, 400, ".data: expected map, got &{[1]}"),
        ({"immutable": "x"}, 400, ".immutable: expected boolean, got &{x}"),
        (
            {"metadata": {"name": "a", "generation": "x"}},
            400,
            ".metadata.generation: expected numeric (int or float), got string",
        ),
        (
            {"metadata": {"name": "a", "finalizers": {"a": 1}}},
            400,
            ".metadata.finalizers: expected list, got &{map[a:1]}",
        ),
        (
            {"metadata": {"name": "a", "finalizers": ["f", "f"]}},
            400,
            '.metadata.finalizers: duplicate entries for key [="f"]',
        ),
        (
            {"metadata": {"name": "a", "deletionTimestamp": {}}},
            400,
            ".metadata.deletionTimestamp: expected any scalar, got &{map[]}",
        ),
    ],
)
def test_configurations_that_do_not_fit(change: Obj, code: int, message: str) -> None:
    # The real server answers most of these with a bare 500.
    error = refusal(None, a_config_map({"x": "1"}) | change)
    prefix = "failed to create typed patch object (/a; /v1, Kind=ConfigMap): " if message.startswith(".") else ""
    assert (error.code, error.message) == (code, prefix + message)


@pytest.mark.parametrize(
    ("containers", "message"),
    [
        ([{"name": "a"}, {"name": "a"}], '.spec.containers: duplicate entries for key [name="a"]'),
        (
            [{"name": "a", "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]}],
            '.spec.containers[name="a"].ports: duplicate entries for key [containerPort=80,protocol="TCP"]',
        ),
        ([None], ".spec.containers: element 0: associative list with keys may not have a null element"),
        (["x"], ".spec.containers: element 0: associative list with keys may not have non-map elements"),
    ],
)
def test_lists_that_cannot_be_keyed(containers: list[Any], message: str) -> None:
    config = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    error = refusal(None, config, POD, "Pod")
    assert error.message == f"failed to create typed patch object (/p; /v1, Kind=Pod): {message}"


def test_a_missing_key_of_a_go_struct_is_its_zero_value() -> None:
    config = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"image": "x"}]}}
    result = apply(None, config, POD, Writer("m1", "v1", MONDAY, kind="Pod"))
    assert owners(result)["m1"]["f:spec"]["f:containers"] == {'k:{"name":""}': {".": {}, "f:image": {}}}


def test_a_missing_key_of_a_custom_resource_without_default_is_refused() -> None:
    config = {"apiVersion": "pt.io/v1", "kind": "Wid", "metadata": {"name": "w"}, "spec": {"set": [None]}}
    error = refusal(None, config, WID, "Wid")
    assert error.message.endswith(
        ".spec.set: element 0: associative list without keys has an element that's an explicit null"
    )


LAST = '{"apiVersion":"v1","data":{"x":"1"},"kind":"ConfigMap","metadata":{"name":"a"}}'


def client_side(annotation: str = LAST) -> Obj:
    live = applied(None, a_config_map({"x": "1", "y": "2"}, annotations={LAST_APPLIED: annotation}), "client")
    live["metadata"]["managedFields"][0]["operation"] = "Update"
    return live


def test_kubectl_takes_over_what_it_applied_from_the_client_side() -> None:
    result = applied(client_side(), a_config_map({"x": "3"}), "kubectl")
    assert result["data"] == {"x": "3", "y": "2"}
    assert result["metadata"]["annotations"][LAST_APPLIED] == LAST.replace('"1"', '"3"') + "\n"


@pytest.mark.parametrize(
    ("manager", "annotation", "config"),
    [
        pytest.param("other", LAST, {"x": "3"}, id="someone else"),
        pytest.param("kubectl", LAST, {"y": "3"}, id="a field it did not apply"),
        pytest.param("kubectl", LAST.replace('"1"', '"0"'), {"x": "3"}, id="a field that was changed since"),
        pytest.param("kubectl", "{", {"x": "3"}, id="an annotation that cannot be read"),
        pytest.param("kubectl", LAST.replace('"v1"', '"v2"'), {"x": "3"}, id="another version"),
        pytest.param("kubectl", LAST.replace('"1"', "1"), {"x": "3"}, id="an annotation that does not fit"),
    ],
)
def test_other_conflicts_remain(manager: str, annotation: str, config: Obj) -> None:
    with pytest.raises(StatusError) as caught:
        applied(client_side(annotation), a_config_map(config), manager)
    assert caught.value.code == 409


def test_an_annotation_that_grew_too_large_is_given_up() -> None:
    result = applied(client_side(), a_config_map({"x": "1", "big": "b" * 256 * 1024}), "kubectl")
    assert LAST_APPLIED not in result["metadata"]["annotations"]


items = st.lists(
    st.fixed_dictionaries({"k": st.sampled_from("abcd")}, optional={"v": st.sampled_from("xy"), "j": st.just(2)}),
    min_size=1,
    max_size=4,
    unique_by=lambda item: (item["k"], item.get("j", 7)),
)
letters = st.sampled_from("abc")
# Nothing empty: emptying a container leaves null in it (here as there), which only decoding tidies up.
specs = st.fixed_dictionaries(
    {"n": st.integers(0, 2)},
    optional={
        "m": st.dictionaries(letters, st.sampled_from("xy"), min_size=1, max_size=3),
        "any": st.dictionaries(letters, st.sampled_from([1, [1], {"y": 1}, {"z": 1}]), min_size=1, max_size=2),
        "at": st.fixed_dictionaries({"a": st.sampled_from("xy")}, optional={"b": st.sampled_from("xy")}),
        "set": st.lists(letters, min_size=1, max_size=3, unique=True),
        "lm": items,
    },
)


def a_config(spec: Obj) -> Obj:
    """With a label, because who owns nothing is not remembered."""
    metadata = {"name": "w", "labels": {"a": "b"}}
    return {"apiVersion": "pt.io/v1", "kind": "Wid", "metadata": metadata, "spec": spec}


def apply_spec(live: Obj | None, spec: Obj, manager: str) -> Obj:
    return apply(live, a_config(spec), WID, Writer(manager, "pt.io/v1", MONDAY, kind="Wid"), force=True)


@given(st.lists(st.tuples(st.sampled_from(["m1", "m2", "m3"]), specs), min_size=1, max_size=5))
def test_whatever_came_before_applying_again_is_a_no_op_and_the_wish_is_fulfilled(
    history: list[tuple[str, Obj]],
) -> None:
    live: Obj | None = None
    for manager, spec in history:
        before = copy.deepcopy((live, spec))
        result = apply_spec(live, spec, manager)
        assert (live, spec) == before
        live = result
    assert live is not None
    manager, spec = history[-1]
    assert apply_spec(live, spec, manager) == live
    has = live["spec"]
    assert has["n"] == spec["n"]
    assert set(spec.get("set", ())) <= set(has.get("set", ()))
    assert spec.get("m", {}).items() <= has.get("m", {}).items()
    assert spec.get("at", has.get("at")) == has.get("at")


@given(specs, specs)
def test_a_manager_that_applies_nothing_any_more_leaves_the_others_work(mine: Obj, theirs: Obj) -> None:
    alone = apply_spec(None, theirs, "m2")
    shared = apply_spec(apply_spec(alone, mine, "m1"), theirs, "m2")
    left = apply_spec(shared, {"n": theirs["n"]}, "m1")["spec"]
    assert set(left.get("set", ())) == set(theirs.get("set", ()))
    assert left.get("m", {}) == theirs.get("m", {})


def test_fifty_thousand_conflicts_are_counted_and_the_first_thousand_listed() -> None:
    once = applied(None, a_config_map({f"k{i}": "1" for i in range(50_000)}), "m2")
    error = refusal(once, a_config_map({f"k{i}": "2" for i in range(50_000)}))
    assert error.message.startswith('Apply failed with 50000 conflicts: conflicts with "m2"')
    assert len(error.details["causes"]) <= 1001
    assert len(msgspec.json.encode(error.as_object())) < 1024 * 1024


def test_long_keys_are_cut_before_they_stand_in_front_of_all_below_them() -> None:
    below: Obj = {f"f:k{i}": {} for i in range(1000)}
    assert sum(map(len, paths({"f:" + "x" * 100_000: below}))) < 2_000_000
