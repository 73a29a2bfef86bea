# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from springtide.local.access import reviews
from springtide.local.access.authentication import Authenticator
from springtide.local.access.identity import User
from springtide.local.access.jws import SigningKey
from springtide.local.access.rbac import RbacIndex
from springtide.local.access.tokens import ISSUER, Grant, Reference, ServiceAccountTokens
from springtide.local.status import StatusError

JANE = User("jane", "jane-uid", ("devs", "system:authenticated"))
CONFIG_MAPS = {"namespace": "acc", "verb": "get", "resource": "configmaps"}
ALLOWED = {"allowed": True, "reason": 'RBAC: allowed by RoleBinding "jane-ed/acc" of Role "editor" to User "jane"'}


@pytest.fixture
def index() -> RbacIndex:
    index = RbacIndex()
    rules = [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
        {"nonResourceURLs": ["/logs"], "verbs": ["get"]},
    ]
    index.put("roles", {"metadata": {"name": "editor", "namespace": "acc"}, "rules": rules})
    binding = {
        "metadata": {"name": "jane-ed", "namespace": "acc"},
        "roleRef": {"kind": "Role", "name": "editor"},
        "subjects": [{"kind": "User", "name": "jane"}],
    }
    index.put("rolebindings", binding)
    return index


def test_can_i(index: RbacIndex) -> None:
    review = {"spec": {"resourceAttributes": CONFIG_MAPS}}
    assert reviews.self_subject_access_review(review, JANE, index)["status"] == ALLOWED
    review = {"spec": {"resourceAttributes": {**CONFIG_MAPS, "resource": "pods"}}}
    assert reviews.self_subject_access_review(review, JANE, index)["status"] == {"allowed": False}


def test_can_they(index: RbacIndex) -> None:
    review: dict[str, Any] = {"spec": {"user": "jane", "resourceAttributes": CONFIG_MAPS}}
    assert reviews.subject_access_review(review, index)["status"] == ALLOWED
    assert reviews.local_subject_access_review(review, "acc", index)["status"] == ALLOWED
    master = {"spec": {"groups": ["system:masters"], "nonResourceAttributes": {"path": "/x", "verb": "get"}}}
    assert reviews.subject_access_review(master, index)["status"] == {"allowed": True}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"user": "x"},
            '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: '
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
        (
            {"user": "x", "resourceAttributes": {}, "nonResourceAttributes": {"path": "/api", "verb": "get"}},
            '.authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: '
            '{"Path":"/api","Verb":"get"}: cannot be specified in combination with resourceAttributes',
        ),
        (
            {"resourceAttributes": {}},
            '.authorization.k8s.io "" is invalid: spec.user: Invalid value: "": '
            "at least one of user or group must be specified",
        ),
    ],
)
def test_unclear_questions_are_invalid(index: RbacIndex, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(StatusError) as refused:
        reviews.subject_access_review({"spec": spec}, index)
    assert (refused.value.code, refused.value.message) == (422, message)


def test_a_local_review_is_about_its_own_namespace(index: RbacIndex) -> None:
    with pytest.raises(StatusError, match=r'Invalid value: "acc": must match metadata.namespace'):
        reviews.local_subject_access_review(
            {"spec": {"user": "jane", "resourceAttributes": CONFIG_MAPS}}, "elsewhere", index
        )


def test_what_can_i(index: RbacIndex) -> None:
    answer = reviews.self_subject_rules_review({"spec": {"namespace": "acc"}}, JANE, index)
    assert answer == {
        "spec": {},
        "status": {
            "resourceRules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
            "nonResourceRules": [{"nonResourceURLs": ["/logs"], "verbs": ["get"]}],
            "incomplete": False,
        },
    }


def test_what_can_i_needs_a_namespace(index: RbacIndex) -> None:
    with pytest.raises(StatusError, match="no namespace on request"):
        reviews.self_subject_rules_review({"spec": {}}, JANE, index)


def test_a_node_hears_that_the_list_is_incomplete(index: RbacIndex) -> None:
    node = User("system:node:a", groups=("system:nodes",))
    answer = reviews.self_subject_rules_review({"spec": {"namespace": "acc"}}, node, index)["status"]
    assert answer["incomplete"] is True
    assert answer["evaluationError"] == "node authorizer does not support user rule resolution"


def test_who_am_i() -> None:
    answer = reviews.self_subject_review({"kind": "SelfSubjectReview"}, JANE, "2026-11-16T01:47:07Z")
    assert answer["metadata"] == {"creationTimestamp": "2026-11-16T01:47:07Z"}
    assert answer["status"]["userInfo"] == {
        "username": "jane",
        "uid": "jane-uid",
        "groups": ["devs", "system:authenticated"],
    }


class Tokens:
    def __init__(self, path: Path) -> None:
        self.alive = True
        self.tokens = ServiceAccountTokens(SigningKey(path), lambda *_: "sa-1" if self.alive else "")
        self.authenticator = Authenticator(self.tokens, {"plaintoken": JANE})
        self.good = self.tokens.mint(Grant("acc", Reference("default", "sa-1"), (ISSUER,), 3600))

    def review(self, token: str, *audiences: str) -> Any:
        spec = {"token": token, "audiences": list(audiences)}
        return reviews.token_review({"spec": spec}, self.authenticator, self.tokens)["status"]


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "key")


def test_a_good_token_is_vouched_for(tokens: Tokens) -> None:
    answer = tokens.review(tokens.good)
    assert answer["authenticated"] is True
    assert answer["user"]["username"] == "system:serviceaccount:acc:default"
    assert answer["audiences"] == [ISSUER]


def test_a_static_token_is_vouched_for(tokens: Tokens) -> None:
    assert tokens.review("plaintoken") == {
        "authenticated": True,
        "user": JANE.as_user_info(),
        "audiences": [ISSUER],
    }


def test_other_tokens_are_not(tokens: Tokens) -> None:
    assert tokens.review("bad") == {"user": {}, "error": "invalid bearer token"}
    assert tokens.review(tokens.good, "x") == {
        "user": {},
        "error": f'[invalid bearer token, token audiences ["{ISSUER}"] is invalid for the target audiences ["x"]]',
    }
    tokens.alive = False
    assert tokens.review(tokens.good)["error"] == '[invalid bearer token, serviceaccounts "default" not found]'


def test_a_review_without_a_token_makes_no_sense(tokens: Tokens) -> None:
    with pytest.raises(StatusError, match="token is required for TokenReview in authentication"):
        tokens.review("")
