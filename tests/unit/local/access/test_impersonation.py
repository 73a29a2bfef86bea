# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from springtide.local.access.attributes import Attributes, Decision
from springtide.local.access.identity import User
from springtide.local.access.impersonation import impersonate
from springtide.local.status import StatusError

JANE = User("jane", groups=("system:authenticated",))
LIST_PODS = Attributes("list", "", "pods", namespace="default")
BOB = [("Impersonate-User", "bob")]


class Granting:
    """Allows the (verb, resource, name) triples it was given, or everything."""

    def __init__(self, *allowed: tuple[str, str, str], everything: bool = False) -> None:
        self.allowed, self.everything = set(allowed), everything

    def authorize(self, user: User, wanted: Attributes) -> Decision:
        return Decision(self.everything or (wanted.verb, wanted.full_resource, wanted.name) in self.allowed)


EVERYTHING = Granting(everything=True)


def test_without_headers_callers_stay_themselves() -> None:
    assert impersonate(JANE, [("Accept", "*/*")], LIST_PODS, Granting()) is JANE


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (BOB, User("bob", groups=("system:authenticated",))),
        (
            [*BOB, ("impersonate-group", "g"), ("Impersonate-Uid", "12"), ("Impersonate-Extra-foo%2fx", "bar")],
            User("bob", "12", ("g", "system:authenticated"), {"foo/x": ("bar",)}),
        ),
        (
            [("Impersonate-User", "system:serviceaccount:ci:robot")],
            User(
                "system:serviceaccount:ci:robot",
                groups=("system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated"),
            ),
        ),
        (
            [("Impersonate-User", "system:anonymous")],
            User("system:anonymous", groups=("system:unauthenticated",)),
        ),
        (
            [("Impersonate-User", "system:node:a")],
            User("system:node:a", groups=("system:nodes", "system:authenticated")),
        ),
        (
            [*BOB, ("Impersonate-Group", "system:masters")],
            User("bob", groups=("system:masters", "system:authenticated")),
        ),
    ],
    ids=["name", "all parts", "service account", "anonymous", "node", "masters the old way"],
)
def test_an_allowed_caller_becomes_the_other(headers: list[tuple[str, str]], expected: User) -> None:
    assert impersonate(JANE, headers, LIST_PODS, EVERYTHING) == expected


@pytest.mark.parametrize(
    "granted",
    [
        [("impersonate", "users", "bob")],
        [("impersonate-on:user-info:list", "pods", ""), ("impersonate:user-info", "users", "bob")],
    ],
    ids=["the old way", "for this verb only"],
)
def test_either_way_of_being_allowed_is_enough(granted: list[tuple[str, str, str]]) -> None:
    assert impersonate(JANE, BOB, LIST_PODS, Granting(*granted)).name == "bob"


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        (
            BOB,
            'pods is forbidden: User "jane" cannot impersonate-on:user-info:list resource "pods" in API group "" '
            'in the namespace "default"',
        ),
        (
            [("Impersonate-User", "system:serviceaccount:ci:robot")],
            'pods is forbidden: User "jane" cannot impersonate-on:serviceaccount:list resource "pods" '
            'in API group "" in the namespace "default"',
        ),
    ],
)
def test_the_refusal_is_about_the_constrained_way(headers: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(StatusError) as refused:
        impersonate(JANE, headers, LIST_PODS, Granting())
    assert (refused.value.code, refused.value.message) == (403, message)


def test_a_group_without_a_user_makes_no_sense() -> None:
    with pytest.raises(StatusError) as refused:
        impersonate(JANE, [("Impersonate-Group", "a")], LIST_PODS, EVERYTHING)
    assert (refused.value.code, refused.value.message) == (
        400,
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a"}, Extra:map[string][]string(nil)} '
        "without impersonating a user name",
    )
