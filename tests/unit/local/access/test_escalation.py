# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from springtide.local.access.escalation import check_binding, check_role
from springtide.local.access.identity import User
from springtide.local.access.rbac import RbacIndex
from springtide.local.status import StatusError

JANE = User("jane", groups=("devs", "system:authenticated"))
ADMIN = User("root", groups=("system:masters",))
PODS_AND_MAPS = {"apiGroups": ["", "apps"], "resources": ["pods", "configmaps"], "verbs": ["get", "list"]}
EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
ATTEMPT = (
    'user "jane" (groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'
)


def jane_holds(*rules: dict[str, Any]) -> RbacIndex:
    index = RbacIndex()
    index.put("clusterroles", {"metadata": {"name": "held"}, "rules": list(rules)})
    index.put("clusterroles", {"metadata": {"name": "cluster-admin"}, "rules": [EVERYTHING]})
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "held"}
    binding = {"metadata": {"name": "b"}, "roleRef": ref, "subjects": [{"kind": "User", "name": "jane"}]}
    index.put("clusterrolebindings", binding)
    return index


def a_role(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "r1", "namespace": "acc"}, "rules": list(rules), **more}


def a_binding(role: str, kind: str = "ClusterRole") -> dict[str, Any]:
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}
    return {"metadata": {"name": "r2", "namespace": "acc"}, "roleRef": ref, "subjects": []}


def on_roles(verb: str, names: list[str] | None = None) -> dict[str, Any]:
    rule = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "clusterroles"], "verbs": [verb]}
    return rule | ({"resourceNames": names} if names else {})


@pytest.mark.parametrize(
    ("held", "wanted", "lines"),
    [
        pytest.param(
            [],
            PODS_AND_MAPS,
            [
                '{APIGroups:[""], Resources:["configmaps"], Verbs:["get" "list"]}',
                '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
                '{APIGroups:["apps"], Resources:["configmaps"], Verbs:["get" "list"]}',
                '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}',
            ],
            id="nothing held",
        ),
        pytest.param(
            [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"], "resourceNames": ["a"]}],
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["a", "b"]},
            ['{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get"]}'],
            id="one name of two",
        ),
        pytest.param(
            [{"nonResourceURLs": ["/a*"], "verbs": ["get"]}],
            {"nonResourceURLs": ["/a/b", "/b"], "verbs": ["get", "post"]},
            [
                '{NonResourceURLs:["/a/b"], Verbs:["post"]}',
                '{NonResourceURLs:["/b"], Verbs:["get"]}',
                '{NonResourceURLs:["/b"], Verbs:["post"]}',
            ],
            id="paths",
        ),
    ],
)
def test_granting_more_than_held_is_refused_line_by_line(
    held: list[dict[str, Any]], wanted: dict[str, Any], lines: list[str]
) -> None:
    with pytest.raises(StatusError) as refused:
        check_role(jane_holds(*held), JANE, "roles", a_role(wanted))
    expected = 'roles.rbac.authorization.k8s.io "r1" is forbidden: ' + ATTEMPT + "\n".join(lines)
    assert refused.value.message == expected


@pytest.mark.parametrize(
    "held",
    [
        [PODS_AND_MAPS],
        [EVERYTHING],
        [on_roles("escalate")],
        [{**PODS_AND_MAPS, "apiGroups": [""]}, {**PODS_AND_MAPS, "apiGroups": ["apps"]}],
    ],
    ids=["the same", "everything", "escalate", "in two rules"],
)
def test_granting_what_is_held_or_being_trusted_is_fine(held: list[dict[str, Any]]) -> None:
    check_role(jane_holds(*held), JANE, "roles", a_role(PODS_AND_MAPS))


def test_masters_are_not_asked() -> None:
    check_role(RbacIndex(), ADMIN, "clusterroles", a_role(EVERYTHING))
    check_binding(RbacIndex(), ADMIN, "clusterrolebindings", a_binding("not-there-yet"))


def test_escalate_by_name_does_not_help_a_create() -> None:
    index = jane_holds(on_roles("escalate", ["r1"]))
    with pytest.raises(StatusError, match="not currently held"):
        check_role(index, JANE, "roles", a_role(PODS_AND_MAPS))
    check_role(index, JANE, "roles", a_role(PODS_AND_MAPS), a_role())


def test_the_garbage_collector_may_change_finalizers() -> None:
    old = a_role(EVERYTHING)
    new = a_role(EVERYTHING) | {"metadata": {**old["metadata"], "finalizers": ["x"], "ownerReferences": []}}
    check_role(jane_holds(), JANE, "roles", new, old)


def test_aggregation_needs_full_authority() -> None:
    role = a_role(aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]})
    with pytest.raises(StatusError) as refused:
        check_role(jane_holds(), JANE, "clusterroles", role)
    assert refused.value.message == (
        'clusterroles.rbac.authorization.k8s.io "r1" is forbidden: '
        "must have cluster-admin privileges to use the aggregationRule"
    )


def test_binding_a_stronger_role_is_refused() -> None:
    with pytest.raises(StatusError) as refused:
        check_binding(jane_holds(), JANE, "rolebindings", a_binding("cluster-admin"))
    expected = 'rolebindings.rbac.authorization.k8s.io "r2" is forbidden: ' + ATTEMPT
    assert refused.value.message == expected + '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}'


def test_the_verb_bind_on_that_role_allows_it() -> None:
    check_binding(jane_holds(on_roles("bind", ["cluster-admin"])), JANE, "rolebindings", a_binding("cluster-admin"))


def test_binding_a_missing_role_is_not_found() -> None:
    with pytest.raises(StatusError) as refused:
        check_binding(jane_holds(), JANE, "rolebindings", a_binding("nope"))
    assert (refused.value.code, refused.value.message) == (
        404,
        'rolebindings.rbac.authorization.k8s.io "nope" not found',
    )
