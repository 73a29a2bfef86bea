# SPDX-License-Identifier: Apache-2.0
"""Who uses the cluster, and whose jobs are shown."""

from __future__ import annotations

import base64
import hashlib

import pytest
from tests.unit.cli.jobs.cluster import FakeCluster
from tests.unit.kube.fake_api import answer

from springtide.cli.jobs import users
from springtide.kube.client import Client
from springtide.kube.config import Connection, Headers
from springtide.kube.resources import CONFIGMAPS, NAMESPACES, Key

ME = "kubecfg:certauth:admin"


def connection(authorization: str = "") -> Connection:
    async def credentials() -> Headers:
        return {"Authorization": authorization} if authorization else {}

    return Connection("https://localhost", credentials=credentials)


@pytest.fixture
def api() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def client(api: FakeCluster) -> Client:
    return Client(api)


async def test_users_with_certificates_have_one_name(client: Client) -> None:
    user = await users.user_of(client, connection())
    assert user == (ME, "3399d840e8b371ed7ca45dda29debeb1")


async def test_users_with_passwords_have_their_own(client: Client) -> None:
    pair = base64.b64encode(b"ann:secret").decode()
    assert (await users.user_of(client, connection(f"Basic {pair}"))).name == "kubecfg:basicauth:ann"


async def test_users_with_tokens_are_asked_for_at_the_server(api: FakeCluster, client: Client) -> None:
    name = "system:serviceaccount:team:ann"
    api.answers.append(answer({"status": {"userInfo": {"username": name}}}, 201))
    assert await users.user_of(client, connection("Bearer t")) == (name, hashlib.md5(name.encode()).hexdigest())


@pytest.mark.parametrize(
    ("label", "administrators", "shows_mine", "shows_others"),
    [
        ("", "", True, True),
        ("false", "", True, True),
        ("true", "bob, ann", True, False),
        ("true", f"a, {ME}", True, True),
    ],
)
async def test_users_of_an_isolated_namespace_see_their_own_jobs(
    api: FakeCluster, client: Client, label: str, administrators: str, shows_mine: bool, shows_others: bool
) -> None:
    labels = {"arena.kubeflow.org/isolate-user": label} if label else {}
    api.put(NAMESPACES, Key("", "team"), metadata={"labels": labels})
    api.put(CONFIGMAPS, Key("arena-system", "arena-config"), data={"adminUsers": administrators})
    found = await users.isolation_of(client, connection(), "team", "arena-system")
    mine = {"metadata": {"labels": {"arena.kubeflow.org/uid": found.user.id}}}
    assert (found.shows(mine), found.shows({"metadata": {}})) == (shows_mine, shows_others)


async def test_a_namespace_that_may_not_be_read_is_not_isolated(client: Client) -> None:
    assert not (await users.isolation_of(client, connection(), "gone", "arena-system")).isolated
