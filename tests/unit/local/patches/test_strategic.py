# SPDX-License-Identifier: Apache-2.0
"""Strategic merge patches of a Deployment; every answer below is kube-apiserver's."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.local.patches import strategic
from springtide.local.schema.builtin import kind_node
from springtide.local.status import StatusError

Obj = dict[str, Any]
NODE = kind_node("apps", "v1", "Deployment")


def container(name: str, image: str, **more: Any) -> Obj:
    return {"name": name, "image": image, **more}


A = container("a", "x", env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])
B, C = container("b", "y"), container("c", "z")
V, W = {"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {}}


def a_deployment() -> Obj:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}}
    pod = {"containers": [A, B, C], "volumes": [V, W]}
    return copy.deepcopy(
        {
            "metadata": {"name": "d", "finalizers": ["a.b/c", "a.b/d"], "labels": {"x": "y"}},
            "spec": {"strategy": rolling, "template": {"spec": pod}},
        }
    )


def pod_patch(**spec: Any) -> Obj:
    return {"spec": {"template": {"spec": spec}}}


def patched(patch: Any) -> Obj:
    """The result, after seeing that neither argument was changed."""
    target, sent = a_deployment(), copy.deepcopy(patch)
    result = strategic.apply(target, sent, NODE)
    assert (target, sent) == (a_deployment(), patch)
    return result


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param([{"name": "a", "image": "n"}], [A | {"image": "n"}, B, C], id="merged by name"),
        pytest.param([container("n", "n")], [container("n", "n"), A, B, C], id="new ones come first"),
        pytest.param([{"name": "a", "$patch": "delete"}], [B, C], id="deleted"),
        pytest.param([{"$patch": "replace"}, container("q", "q")], [container("q", "q")], id="replaced"),
        pytest.param([container("n", "1"), container("n", "2")], [container("n", "2"), A, B, C], id="twice in a patch"),
        pytest.param(
            [{"name": "a", "env": [{"name": "C", "value": "3"}, {"name": "A", "$patch": "delete"}]}],
            [A | {"env": [{"name": "C", "value": "3"}, {"name": "B", "value": "2"}]}, B, C],
            id="lists in lists",
        ),
        pytest.param([{"name": "a", "command": ["x"]}], [A | {"command": ["x"]}, B, C], id="plain lists are replaced"),
        pytest.param([{"name": "a", "env": None}], [container("a", "x"), B, C], id="null removes"),
    ],
)
def test_containers_are_merged_by_name(patch: list[Obj], expected: list[Obj]) -> None:
    assert patched(pod_patch(containers=patch))["spec"]["template"]["spec"]["containers"] == expected


@pytest.mark.parametrize(
    ("order", "patch", "expected"),
    [
        pytest.param("cab", None, ["c", "a", "b"], id="order alone"),
        pytest.param("cna", [container("n", "n")], ["b", "c", "n", "a"], id="order and items"),
        pytest.param("ba", [{"name": "c", "$patch": "delete"}], ["b", "a"], id="order and a deletion"),
        pytest.param("ab", None, ["a", "b", "c"], id="others stay behind"),
        pytest.param(
            "adb",
            [container("d", "x"), {"name": "b", "$patch": "delete"}],
            ["a", "c", "d"],
            id="a swap, others stay between",
        ),
    ],
)
def test_set_element_order(order: str, patch: list[Obj] | None, expected: list[str]) -> None:
    spec: Obj = {"$setElementOrder/containers": [{"name": name} for name in order]}
    if patch is not None:
        spec["containers"] = patch
    names = [item["name"] for item in patched(pod_patch(**spec))["spec"]["template"]["spec"]["containers"]]
    assert names == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param({"finalizers": ["a.b/e", "a.b/c"]}, ["a.b/e", "a.b/c", "a.b/d"], id="merged"),
        pytest.param({"$deleteFromPrimitiveList/finalizers": ["a.b/c"]}, ["a.b/d"], id="deleted"),
        pytest.param(
            {"$setElementOrder/finalizers": ["a.b/d", "a.b/c"], "finalizers": []}, ["a.b/d", "a.b/c"], id="ordered"
        ),
        pytest.param(
            {"$setElementOrder/finalizers": ["a.b/d", "a.b/e"], "finalizers": ["a.b/e"]},
            ["a.b/c", "a.b/d", "a.b/e"],
            id="added in order",
        ),
    ],
)
def test_lists_of_scalars_may_be_merged_too(patch: Obj, expected: list[str]) -> None:
    assert patched({"metadata": patch})["metadata"]["finalizers"] == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param({"$patch": "replace", "n": "m"}, {"n": "m"}, id="replace"),
        pytest.param({"$patch": "delete"}, {}, id="delete"),
        pytest.param({"n": "m", "x": None}, {"n": "m"}, id="merge"),
        pytest.param(["a"], ["a"], id="another type"),
    ],
)
def test_maps(patch: Any, expected: Any) -> None:
    assert patched({"metadata": {"labels": patch}})["metadata"]["labels"] == expected


def test_retain_keys_clears_what_it_does_not_name() -> None:
    spec = patched({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}})["spec"]
    assert spec["strategy"] == {"type": "Recreate"}
    volume = {"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}
    volumes = patched(pod_patch(volumes=[volume]))["spec"]["template"]["spec"]["volumes"]
    assert volumes == [{"name": "v", "hostPath": {"path": "/x"}}, W]


def test_where_nothing_was_nulls_and_directives_are_left_out() -> None:
    patch = {"metadata": {"annotations": {"a": None, "b": "c"}}, "spec": {"paused": {"$patch": "delete"}}}
    result = patched(patch)
    assert result["metadata"]["annotations"] == {"b": "c"}
    assert "paused" not in result["spec"]


def test_null_is_an_empty_patch() -> None:
    assert patched(None) == a_deployment()


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        (pod_patch(containers=[{"$patch": "merge"}]), 400, "merging lists cannot yet be specified in the patch"),
        (
            pod_patch(containers=[{"$patch": "frob", "name": "a"}]),
            400,
            "unknown patch type: frob in map: map[$patch:frob name:a]",
        ),
        (
            pod_patch(containers=[{"image": "n"}]),
            400,
            "map: map[image:n] does not contain declared merge key: name",
        ),
        (
            pod_patch(containers=[{"$patch": "delete"}]),
            400,
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            pod_patch(
                **{"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}], "containers": [container("n", "n")]}
            ),
            400,
            "The order in patch list:\n[map[image:n name:n]]\n "
            "doesn't match $setElementOrder list:\n[map[name:c] map[name:a]]\n",
        ),
        (
            pod_patch(**{"$setElementOrder/containers": "x"}),
            400,
            "expected a []interface {}, but received a string",
        ),
        (
            {"metadata": {"labels": {"$patch": "merge", "n": "m"}}},
            400,
            "unknown patch type: merge in map: map[$patch:merge n:m]",
        ),
        (
            pod_patch(volumes=["x"]),
            400,
            "list element types are not identical: [[map[emptyDir:map[] name:v] map[emptyDir:map[] name:w]] [x]]",
        ),
        (pod_patch(**{"$setElementOrder": []}), 400, "invalid patch format of setElementOrder list"),
        ({"spec": {"strategy": {"$retainKeys": "x"}}}, 400, "invalid patch format of retainKeys"),
        ({"spec": {"strategy": {"$retainKeys": [], "type": "x"}}}, 400, "invalid patch format of retainKeys"),
        ({"metadata": {"$deleteFromPrimitiveListfinalizers": []}}, 400, "invalid patch format of primitive list"),
        ([], 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ],
)
def test_patches_that_make_no_sense(patch: Any, code: int, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        patched(patch)
    assert (caught.value.code, caught.value.message) == (code, message)


container_maps = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xyz"), max_size=4)


@given(container_maps, container_maps)
def test_the_difference_of_two_lists_leads_from_one_to_the_other(old: dict[str, str], new: dict[str, str]) -> None:
    target = {"spec": {"template": {"spec": {"containers": [container(*pair) for pair in old.items()]}}}}
    changes: list[Obj] = [container(name, image) for name, image in new.items() if old.get(name) != image]
    changes += [{"name": name, "$patch": "delete"} for name in old if name not in new]
    order = [{"name": name} for name in new]
    patch = pod_patch(**{"$setElementOrder/containers": order, "containers": changes}) if old or changes else {}
    result = strategic.apply(target, patch, NODE)["spec"]["template"]["spec"]["containers"]
    assert result == [container(*pair) for pair in new.items()]


loose = st.recursive(
    st.sampled_from([None, 1, "x", True]),
    lambda below: (
        st.lists(below, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["name", "$patch", "$retainKeys", "env", "$setElementOrder/env", "$deleteFromPrimitiveList/env"]
            ),
            below,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@given(loose, loose)
def test_no_patch_fails_in_an_unforeseen_way(first: Any, second: Any) -> None:
    try:
        patched(pod_patch(containers=[{"name": "a", "env": first}, second]))
    except StatusError as error:
        code = error.code
    else:
        code = 200
    assert code in (200, 400, 422)


def test_ten_thousand_items_are_merged_deleted_and_ordered_in_one_walk() -> None:
    """Each of these was quadratic once, and would take longer than a test may."""
    many = 60_000
    target = {"spec": {"template": {"spec": {"volumes": [{"name": f"v{number}"} for number in range(many)]}}}}
    wanted: list[Obj] = [{"name": f"v{number}", "$patch": "delete"} for number in range(0, many, 2)]
    wanted += [{"name": f"v{number}", "emptyDir": {}} for number in range(1, many, 2)]
    wanted += [{"name": f"n{number}"} for number in range(many // 2)]
    order = [{"name": item["name"]} for item in wanted if "$patch" not in item]
    patch = pod_patch(**{"$setElementOrder/volumes": order, "volumes": wanted})
    volumes = strategic.apply(target, patch, NODE)["spec"]["template"]["spec"]["volumes"]
    assert [volume["name"] for volume in volumes] == [item["name"] for item in order]
    assert volumes[0] == {"name": "v1", "emptyDir": {}}


def test_many_finalizers_are_deleted_in_one_walk() -> None:
    names = [f"a.b/{number}" for number in range(60_000)]
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": names[1:], "finalizers": ["c.d/e"]}}
    merged = strategic.apply({"metadata": {"finalizers": names}}, patch, NODE)
    assert merged["metadata"]["finalizers"] == ["c.d/e", "a.b/0"]
