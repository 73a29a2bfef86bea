# SPDX-License-Identifier: Apache-2.0
"""What a launcher may do at the API server."""

from __future__ import annotations

import pytest
from tests.unit.jobs.builders import a_toy

from springtide.jobs.kind import NOBODY, Hosts
from springtide.jobs.parts import access


@pytest.mark.parametrize(("template", "name"), [({}, "own"), ({"spec": {"serviceAccountName": "users"}}, "users")])
def test_the_users_service_account_takes_precedence(template: dict[str, dict[str, str]], name: str) -> None:
    assert access.account(template, otherwise="own") == name


def test_a_launcher_may_look_at_pods_run_commands_in_hosts_and_write_on_its_own_pod() -> None:
    hosts = Hosts(listed=(), reachable=("w-0",), serves="", launcher_seen=True)
    look, reach, report = access.rules("l", hosts)
    assert (look["verbs"], "resourceNames" in look) == (["get", "list", "watch"], False)
    assert (reach["resources"], reach["resourceNames"]) == (["pods/exec"], ["w-0"])
    assert (report["verbs"], report["resourceNames"]) == (["patch"], ["l"])
    assert access.rules("l", NOBODY) == [look]


def test_the_role_is_bound_to_the_account_and_taken_back_at_the_end() -> None:
    made = access.wanted(a_toy().observe().job, NOBODY, "toy-launcher", "users", {"app": "toy"})
    assert [each.manifest["kind"] for each in made] == ["ServiceAccount", "Role", "RoleBinding"]
    assert [each.grants for each in made] == [False, True, False]
    assert made[2].manifest["subjects"] == [{"kind": "ServiceAccount", "name": "users", "namespace": "ns"}]
    assert {each.manifest["metadata"]["name"] for each in made} == {"toy-launcher"}
