# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from springtide.local.access.attributes import Attributes
from springtide.local.access.bootstrap import aggregate, bootstrap_objects, reconciled
from springtide.local.access.identity import User
from springtide.local.access.rbac import RbacIndex

PLURAL = {kind: f"{kind.lower()}s" for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")}
ANYONE = User("anyone", groups=("system:authenticated",))


@pytest.fixture(scope="module")
def objects() -> list[dict[str, Any]]:
    return bootstrap_objects()


@pytest.fixture(scope="module")
def index(objects: list[dict[str, Any]]) -> RbacIndex:
    index = RbacIndex()
    for obj in objects:
        index.put(PLURAL[obj["kind"]], obj)
    return index


@pytest.mark.parametrize(
    ("user", "wanted", "allowed"),
    [
        (ANYONE, Attributes("get", path="/api"), True),
        (ANYONE, Attributes("get", path="/openapi/v3"), True),
        (ANYONE, Attributes("create", "authorization.k8s.io", "selfsubjectaccessreviews"), True),
        (ANYONE, Attributes("list", "", "pods", namespace="default"), False),
        (User("system:anonymous", groups=("system:unauthenticated",)), Attributes("get", path="/version"), True),
        (User("system:kube-scheduler"), Attributes("create", "", "pods", "binding", "p", "x"), True),
        (
            User("system:kube-controller-manager"),
            Attributes("list", "", "pods"),
            True,
        ),
    ],
)
def test_the_usual_users_may_do_the_usual_things(
    index: RbacIndex, user: User, wanted: Attributes, allowed: bool
) -> None:
    assert index.authorize(user, wanted).allowed is allowed


def test_a_master_holds_the_rules_of_cluster_admin_once(index: RbacIndex) -> None:
    rules = index.rules_for(User("admin", groups=("system:masters",)), "default")
    assert [rule["verbs"] for rule in rules] == [["*"], ["*"]]


def test_admin_edit_and_view_nest(objects: list[dict[str, Any]]) -> None:
    rules = {obj["metadata"]["name"]: obj["rules"] for obj in objects if obj["kind"] == "ClusterRole"}
    assert [len(rules[name]) for name in ("view", "edit", "admin")] == [12, 27, 29]  # as on kube-apiserver 1.36.3
    assert all(rule in rules["admin"] for rule in rules["edit"])


@pytest.mark.parametrize(
    ("selector", "labels", "taken"),
    [
        ({"matchLabels": {"a": "b"}}, {"a": "b"}, True),
        ({"matchLabels": {"a": "b"}}, {"a": "c"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": ""}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, {}, True),
        ({}, {}, True),
    ],
)
def test_a_role_is_aggregated_by_its_labels(selector: dict[str, Any], labels: dict[str, str], taken: bool) -> None:
    rule = {"apiGroups": ["kubeflow.org"], "resources": ["mpijobs"], "verbs": ["get"]}
    role: dict[str, Any] = {"metadata": {"name": "all"}, "aggregationRule": {"clusterRoleSelectors": [selector]}}
    others = [{"metadata": {"name": name, "labels": labels}, "rules": [rule]} for name in ("mpi", "same")]
    assert aggregate(role, [role, *others]) == ([rule] if taken else [])


WANTED: dict[str, Any] = {
    "kind": "ClusterRole",
    "metadata": {"name": "r", "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"}},
    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
}


def test_a_missing_object_is_made() -> None:
    assert reconciled(WANTED, None) is WANTED


def test_an_unchanged_object_is_left_alone() -> None:
    assert reconciled(WANTED, {**WANTED, "metadata": {**WANTED["metadata"], "uid": "1"}}) is None


def test_a_tightened_role_gets_its_rights_back_and_keeps_additions() -> None:
    extra = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    thin = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    result = reconciled(WANTED, {**WANTED, "rules": [thin, extra]})
    assert result is not None
    assert result["rules"] == [thin, extra, {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]


def test_autoupdate_false_is_respected() -> None:
    mine = {"metadata": {"name": "r", "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}}}
    assert reconciled(WANTED, mine) is None


def test_a_binding_gets_missing_subjects_back() -> None:
    ref = {"kind": "ClusterRole", "name": "r"}
    ours, theirs = {"kind": "Group", "name": "system:masters"}, {"kind": "User", "name": "jane"}
    wanted = {"metadata": {"name": "b"}, "roleRef": ref, "subjects": [ours]}
    result = reconciled(wanted, {**wanted, "subjects": [theirs]})
    assert result is not None
    assert result["subjects"] == [theirs, ours]
