# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from springtide.local.kubelet.specs import users
from springtide.local.kubelet.specs.users import NotAllowed, User


def a_pod(whole: dict[str, Any] | None = None, own: dict[str, Any] | None = None) -> dict[str, Any]:
    container = {"name": "c"} | ({"securityContext": own} if own else {})
    spec = {"containers": [container]} | ({"securityContext": whole} if whole else {})
    return {"metadata": {"namespace": "team", "name": "p", "uid": "u"}, "spec": spec}


def of(pod: dict[str, Any]) -> User:
    return users.of_container(pod, pod["spec"]["containers"][0])


def test_nothing_said_is_whoever_the_agent_is() -> None:
    assert of(a_pod()) == User()


def test_a_container_goes_before_its_pod() -> None:
    assert of(a_pod({"runAsUser": 1, "runAsGroup": 2}, {"runAsUser": 3})) == User(3, 2)


def test_the_volumes_group_is_one_of_the_programs_groups() -> None:
    assert of(a_pod({"fsGroup": 5, "supplementalGroups": [6, 5]})).groups == (5, 6)


@pytest.mark.parametrize(
    ("context", "complaint"),
    [
        ({"runAsNonRoot": True, "runAsUser": 0}, "container's runAsUser breaks non-root policy"),
        ({"runAsNonRoot": True}, "container has runAsNonRoot and image will run as root"),
    ],
)
def test_root_is_refused_where_it_is_forbidden(context: dict[str, Any], complaint: str) -> None:
    with pytest.raises(NotAllowed) as caught:
        of(a_pod(context))
    assert str(caught.value) == f'{complaint} (pod: "p_team(u)", container: c)'


def test_an_ordinary_user_hears_what_is_ignored() -> None:
    assert users.ignored(a_pod({"fsGroup": 5}, {"runAsUser": 1}), 1001) == (
        "securityContext: runAsUser, fsGroup are ignored, everything runs as uid 1001; "
        "a cluster that root started with tide up can do it"
    )


def test_an_ordinary_user_who_asks_for_himself_hears_nothing() -> None:
    assert users.ignored(a_pod({"runAsUser": 1001, "runAsNonRoot": True}), 1001) == ""
