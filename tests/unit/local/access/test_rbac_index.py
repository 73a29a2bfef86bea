# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from springtide.local.access.attributes import Attributes, forbidden, require
from springtide.local.access.identity import User
from springtide.local.access.rbac import RbacIndex
from springtide.local.status import StatusError

JANE = User("jane", groups=("devs", "system:authenticated"))
BUILDER = User("system:serviceaccount:ci:builder", groups=("system:serviceaccounts", "system:authenticated"))


def a_role(name: str, *rules: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "rules": list(rules)}


def a_binding(name: str, role: str, *subjects: dict[str, str], namespace: str = "") -> dict[str, Any]:
    kind, _, role_name = role.partition("/")
    return {
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role_name},
        "subjects": list(subjects),
    }


def on(resources: str, verbs: str, group: str = "", names: str = "") -> dict[str, Any]:
    rule: dict[str, Any] = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return rule | ({"resourceNames": names.split()} if names else {})


def index_with(*rules: dict[str, Any]) -> RbacIndex:
    """Jane holds these rules everywhere."""
    index = RbacIndex()
    index.put("clusterroles", a_role("r", *rules))
    index.put("clusterrolebindings", a_binding("b", "ClusterRole/r", {"kind": "User", "name": "jane"}))
    return index


@pytest.mark.parametrize(
    ("rule", "wanted", "allowed"),
    [
        (on("pods", "get"), Attributes("get", "", "pods", name="a", namespace="x"), True),
        (on("pods", "get"), Attributes("list", "", "pods", namespace="x"), False),
        (on("pods", "get"), Attributes("get", "", "pods", "log", "a", "x"), False),
        (on("pods/log", "get"), Attributes("get", "", "pods", "log", "a", "x"), True),
        (on("*/scale", "get", "*"), Attributes("get", "apps", "deployments", "scale", "a", "x"), True),
        (on("*/scale", "get", "*"), Attributes("get", "apps", "deployments", "status", "a", "x"), False),
        (on("*", "*", "*"), Attributes("get", "apps", "deployments", "status", "a", "x"), True),
        (on("pods", "get", "apps"), Attributes("get", "", "pods"), False),
        (on("configmaps", "get", names="a b"), Attributes("get", "", "configmaps", name="b"), True),
        (on("configmaps", "get", names="a b"), Attributes("get", "", "configmaps", name="c"), False),
        (on("configmaps", "list", names="a"), Attributes("list", "", "configmaps"), False),
        ({"nonResourceURLs": ["/logs/*"], "verbs": ["get"]}, Attributes("get", path="/logs/a"), True),
        ({"nonResourceURLs": ["/logs/*"], "verbs": ["get"]}, Attributes("get", path="/logs"), False),
        ({"nonResourceURLs": ["*"], "verbs": ["*"]}, Attributes("post", path="/x"), True),
        (on("*", "*", "*"), Attributes("get", path="/x"), False),
    ],
)
def test_a_rule_allows_what_it_names_and_no_more(rule: dict[str, Any], wanted: Attributes, allowed: bool) -> None:
    assert index_with(rule).authorize(JANE, wanted).allowed is allowed


def test_members_of_system_masters_may_do_anything() -> None:
    admin = User("anyone", groups=("system:masters",))
    assert RbacIndex().authorize(admin, Attributes("delete", path="/everything")).allowed


def test_a_role_binding_holds_in_its_namespace_only() -> None:
    index = RbacIndex()
    index.put("roles", a_role("r", on("pods", "get"), namespace="ci"))
    index.put("rolebindings", a_binding("b", "Role/r", {"kind": "ServiceAccount", "name": "builder"}, namespace="ci"))
    here = index.authorize(BUILDER, Attributes("get", "", "pods", namespace="ci"))
    assert here.reason == 'RBAC: allowed by RoleBinding "b/ci" of Role "r" to ServiceAccount "builder/ci"'
    assert not index.authorize(BUILDER, Attributes("get", "", "pods", namespace="other")).allowed
    assert not index.authorize(BUILDER, Attributes("get", "", "pods")).allowed


def test_the_reason_names_the_cluster_role_binding() -> None:
    index = RbacIndex()
    index.put("clusterroles", a_role("view", on("pods", "list")))
    index.put("clusterrolebindings", a_binding("devs-view", "ClusterRole/view", {"kind": "Group", "name": "devs"}))
    decision = index.authorize(JANE, Attributes("list", "", "pods"))
    assert decision.reason == 'RBAC: allowed by ClusterRoleBinding "devs-view" of ClusterRole "view" to Group "devs"'


def test_a_binding_to_a_missing_role_is_the_reason_of_a_refusal() -> None:
    index = RbacIndex()
    index.put("clusterrolebindings", a_binding("b", "ClusterRole/gone", {"kind": "User", "name": "jane"}))
    decision = index.authorize(JANE, Attributes("list", "", "pods"))
    assert decision.reason == 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'


@pytest.mark.parametrize(
    ("resource", "name"), [("clusterroles", "r"), ("clusterrolebindings", "b")], ids=["role", "binding"]
)
def test_a_removed_object_stops_granting_at_once(resource: str, name: str) -> None:
    index, wanted = index_with(on("pods", "get")), Attributes("get", "", "pods")
    assert index.authorize(JANE, wanted).allowed
    index.remove(resource, "", name)
    assert not index.authorize(JANE, wanted).allowed


def test_a_changed_role_grants_at_once() -> None:
    index, wanted = index_with(on("pods", "get")), Attributes("list", "", "pods")
    assert not index.authorize(JANE, wanted).allowed
    index.put("clusterroles", a_role("r", on("pods", "get list")))
    assert index.authorize(JANE, wanted).allowed


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            Attributes("list", "", "pods", namespace="default"),
            'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"',
        ),
        (
            Attributes("get", "apps", "deployments", "scale", "x", "a"),
            'deployments.apps "x" is forbidden: User "jane" cannot get resource "deployments/scale" '
            'in API group "apps" in the namespace "a"',
        ),
        (
            Attributes("get", "", "nodes", name="n"),
            'nodes "n" is forbidden: User "jane" cannot get resource "nodes" in API group "" at the cluster scope',
        ),
        (Attributes("get", path="/foo<b>"), 'forbidden: User "jane" cannot get path "/foo&lt;b&gt;"'),
    ],
)
def test_refusals_read_as_the_real_server_words_them(wanted: Attributes, message: str) -> None:
    assert forbidden(JANE, wanted).message == message


def test_require_raises_the_refusal_with_the_reason() -> None:
    index = RbacIndex()
    index.put("clusterrolebindings", a_binding("b", "ClusterRole/gone", {"kind": "User", "name": "jane"}))
    with pytest.raises(StatusError, match=r'scope: RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found$'):
        require(index, JANE, Attributes("list", "", "pods"))


KUBELET = User("system:node:a", groups=("system:nodes", "system:authenticated"))


@pytest.mark.parametrize(
    ("wanted", "allowed"),
    [
        (Attributes("patch", "", "nodes", "status", "a"), True),
        (Attributes("patch", "", "nodes", "status", "b"), False),
        (Attributes("create", "", "nodes"), True),
        (Attributes("get", "", "secrets", name="s", namespace="x"), True),
        (Attributes("delete", "", "secrets", name="s", namespace="x"), False),
        (Attributes("update", "coordination.k8s.io", "leases", name="a", namespace="kube-node-lease"), True),
        (Attributes("update", "coordination.k8s.io", "leases", name="b", namespace="kube-node-lease"), False),
        (Attributes("create", "coordination.k8s.io", "leases", namespace="kube-node-lease"), True),
        (Attributes("create", "coordination.k8s.io", "leases", namespace="default"), False),
    ],
)
def test_a_kubelet_has_the_node_role_and_writes_only_its_own_node(wanted: Attributes, allowed: bool) -> None:
    index = RbacIndex()
    rules = [
        on("nodes", "create get update patch"),
        on("nodes/status", "update patch"),
        on("secrets", "get"),
        on("leases", "create get update", "coordination.k8s.io"),
    ]
    index.put("clusterroles", a_role("system:node", *rules))
    assert index.authorize(KUBELET, wanted).allowed is allowed
