# SPDX-License-Identifier: Apache-2.0
"""Rights and their ends: no odd path, method or header gets anybody further than his roles say."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from tests.integration.apiserver.http1 import administrator, until

from springtide.kube.resources import CONFIGMAPS, NAMESPACES, NODES, PODS, ROLEBINDINGS, ROLES, Key
from springtide.local.access import pki
from springtide.local.access.attributes import Attributes
from springtide.local.access.identity import User
from springtide.local.cluster import Cluster

pytestmark = pytest.mark.asyncio(loop_scope="module")

RBAC = "rbac.authorization.k8s.io"
SPACE = "/api/v1/namespaces/default"
SWITCH = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x", "Sec-WebSocket-Version": "13"}
OWNER = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]  # of a namespace, and of nothing else
CHANGER = [{"apiGroups": ["", "coordination.k8s.io"], "resources": ["*"], "verbs": ["get", "patch", "update"]}]
READER = [{"apiGroups": [""], "resources": ["*"], "verbs": ["get", "list", "watch"]}]
STRANGER = [{"apiGroups": ["elsewhere.io"], "resources": ["*"], "verbs": ["*"]}]
VISITOR = [{"apiGroups": ["*"], "resources": ["*/annex"], "verbs": ["*"]}]
ROLE_RULES = {"owner": OWNER, "changer": CHANGER, "reader": READER, "stranger": STRANGER, "visitor": VISITOR}

Ask = Callable[..., Awaitable[tuple[int, Any]]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ask(cluster: Cluster) -> AsyncIterator[Ask]:
    client = cluster.client("tester")
    for name, rules in ROLE_RULES.items():
        key = Key("default", name)
        await client.create(ROLES, ROLES.describe(key) | {"rules": rules})
        reference = {"apiGroup": RBAC, "kind": "Role", "name": name}
        subjects = [{"apiGroup": RBAC, "kind": "User", "name": name}]
        await client.create(ROLEBINDINGS, ROLEBINDINGS.describe(key) | {"roleRef": reference, "subjects": subjects})
    await client.create(NAMESPACES, NAMESPACES.describe(Key("", "other")))
    await client.create(NODES, NODES.describe(Key("", "far")))
    container = {"name": "c", "image": "x"}
    await client.create(PODS, PODS.describe(Key("default", "web")) | {"spec": {"containers": [container]}})
    last = Attributes("get", "annexed", "any", "annex", "x", "default")
    await until(lambda: cluster.server.authorizer.authorize(User("visitor"), last).allowed)
    authority = pki.Authority(cluster.directory.pki, datetime.now(UTC))

    def context(user: str) -> ssl.SSLContext:
        return pki.client_context(authority.certificate, authority.pair(user, pki.Subject(user)))

    contexts = {name: context(name) for name in ROLE_RULES} | {"administrator": administrator(cluster)}
    async with aiohttp.ClientSession() as session:

        async def asked(user: str, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
            data = json.dumps(body) if body is not None else None
            headers = {"Content-Type": "application/json"} | headers
            async with session.request(
                method, cluster.url + path, data=data, headers=headers, ssl=contexts[user]
            ) as found:
                return found.status, json.loads(await found.read())

        yield asked


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{SPACE}/namespaces"),
        ("GET", f"{SPACE}/namespaces/other"),
        ("PUT", f"{SPACE}/namespaces/other/finalize"),
        ("DELETE", f"{SPACE}/namespaces/other"),
        ("GET", f"{SPACE}/nodes/far"),
        ("GET", f"{SPACE}/nodes/far/proxy/pods"),
    ],
)
async def test_the_owner_of_a_namespace_reaches_nothing_outside_through_it(ask: Ask, method: str, path: str) -> None:
    code, answer = await ask("owner", method, path)
    assert (code, answer["reason"]) == (404, "NotFound")
    assert answer["message"] == "the server could not find the requested resource"


async def test_nor_does_he_by_an_upgraded_connection(ask: Ask) -> None:
    code, answer = await ask("owner", "GET", f"{SPACE}/nodes/far/proxy/exec/default/web/c", **SWITCH)
    assert (code, answer["message"]) == (404, "the server could not find the requested resource")


async def test_he_still_has_his_namespace(ask: Ask) -> None:
    assert (await ask("owner", "GET", SPACE))[0] == 200


async def test_rights_in_another_group_open_no_proxy(ask: Ask) -> None:
    path = "/apis/elsewhere.io/v1/namespaces/default/pods/web/proxy/"
    code, answer = await ask("stranger", "GET", path)
    assert (code, answer["message"]) == (404, "the server could not find the requested resource")


async def test_a_right_to_watch_everything_is_no_right_to_run_commands(ask: Ask) -> None:
    assert (await ask("reader", "GET", f"{SPACE}/pods/web/exec?command=sh", **SWITCH))[0] == 403
    old_way = "/api/v1/watch/namespaces/default/pods/web/exec?command=sh"
    assert (await ask("reader", "GET", old_way, **SWITCH))[0] == 405


async def test_an_upgrade_where_nothing_can_be_upgraded_is_answered(ask: Ask) -> None:
    assert (await ask("administrator", "GET", f"{SPACE}/pods/web/status", **SWITCH))[0] == 404


async def test_rights_to_a_subresource_that_does_not_exist_do_nothing(ask: Ask) -> None:
    binding = {"metadata": {"name": "web"}, "target": {"name": "far"}}
    assert (await ask("visitor", "POST", f"{SPACE}/bindings/web/annex", binding))[0] == 404


@pytest.mark.parametrize(
    ("method", "path", "media"),
    [
        ("PATCH", f"{SPACE}/configmaps/new?fieldManager=t", "application/apply-patch+yaml"),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/new", "application/json"),
    ],
)
async def test_who_may_only_change_makes_nothing_new(ask: Ask, method: str, path: str, media: str) -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"} if method == "PATCH" else {}
    code, answer = await ask("changer", method, path, kind | {"metadata": {"name": "new"}}, **{"Content-Type": media})
    assert (code, answer["reason"]) == (403, "Forbidden")
    assert 'cannot create resource "' in answer["message"]


async def test_who_may_change_still_applies_to_what_is_there(ask: Ask, cluster: Cluster) -> None:
    await cluster.client("tester").create(CONFIGMAPS, CONFIGMAPS.describe(Key("default", "old")))
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "old"}, "data": {"a": "b"}}
    path, media = f"{SPACE}/configmaps/old?fieldManager=t", {"Content-Type": "application/apply-patch+yaml"}
    assert (await ask("changer", "PATCH", path, wanted, **media))[0] == 200


@pytest.mark.parametrize("header", ["Impersonate-User", "impersonate-user", "IMPERSONATE-USER"])
async def test_impersonation_is_asked_for_in_any_case(ask: Ask, header: str) -> None:
    code, answer = await ask("administrator", "GET", f"{SPACE}/secrets", **{header: "nobody"})
    assert code == 403
    assert 'User "nobody" cannot list resource "secrets"' in answer["message"]
