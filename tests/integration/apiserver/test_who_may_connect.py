# SPDX-License-Identifier: Apache-2.0
"""Certificates, tokens and nobody: who gets in, and what the others hear."""

from __future__ import annotations

import json
import ssl
import stat
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import aiohttp
import pytest

from springtide.kube.resources import CLUSTERROLEBINDINGS, SERVICEACCOUNTS, Key
from springtide.local.access import pki
from springtide.local.cluster import Cluster

module_loop = pytest.mark.asyncio(loop_scope="module")


async def status_of(cluster: Cluster, path: str, context: ssl.SSLContext, **headers: str) -> tuple[int, bytes]:
    async with aiohttp.ClientSession() as session, session.get(cluster.url + path, ssl=context, headers=headers) as got:
        return got.status, await got.read()


def trusting(cluster: Cluster, pair: pki.KeyPair | None = None) -> ssl.SSLContext:
    authority = pki.Authority(cluster.directory.pki, datetime.now(UTC))
    return pki.client_context(authority.certificate, pair)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
@module_loop
async def test_anybody_may_ask_for_health_and_version(cluster: Cluster, path: str) -> None:
    assert (await status_of(cluster, path, trusting(cluster)))[0] == 200


@pytest.mark.parametrize("path", ["/", "/api", "/api/v1/pods", "/metrics", "/openapi/v3"])
@module_loop
async def test_another_user_of_the_machine_gets_401(cluster: Cluster, path: str) -> None:
    code, body = await status_of(cluster, path, trusting(cluster))
    assert code == 401
    assert json.loads(body)["reason"] == "Unauthorized"


async def pieces(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * 10_000


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("POST", "/version", b"x" * 100_000, 403),
        ("POST", "/version", 1, 403),
        ("POST", "/version", 10, 403),
        ("POST", "/api/v1/namespaces", b"x" * 100_000, 401),
        ("POST", "/api/v1/namespaces", 1, 401),
        ("GET", "/version", 1, 200),
        ("GET", "/version", 10, 401),
        ("GET", "/version", b"x" * 100_000, 401),
    ],
)
@module_loop
async def test_nobody_hears_of_rights_before_sizes(
    cluster: Cluster, method: str, path: str, body: bytes | int, code: int
) -> None:
    data = body if isinstance(body, bytes) else pieces(body)
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, cluster.url + path, ssl=trusting(cluster), data=data) as got,
    ):
        document = await got.json()
    assert got.status == code
    if code == 401:
        assert document["message"].startswith("Unauthorized")
    if code == 403:
        assert 'User "system:anonymous" cannot post path "/version"' in document["message"]


@module_loop
async def test_a_made_up_token_is_refused(cluster: Cluster) -> None:
    code, _ = await status_of(cluster, "/api", trusting(cluster), Authorization="Bearer nonsense")
    assert code == 401


@module_loop
async def test_the_server_certificate_is_good_for_its_names(cluster: Cluster) -> None:
    context = trusting(cluster)
    assert context.check_hostname
    assert (await status_of(cluster, "/version", context))[0] == 200


def test_the_kubeconfig_and_all_keys_are_for_their_owner_alone(cluster: Cluster) -> None:
    for secret in (cluster.directory.kubeconfig, *cluster.directory.pki.iterdir()):
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600


@module_loop
async def test_a_client_certificates_its_user_who_has_no_rights_by_himself(cluster: Cluster) -> None:
    authority = pki.Authority(cluster.directory.pki, datetime.now(UTC))
    jane = authority.pair("jane", pki.Subject("jane", groups=("devs",)))
    code, body = await status_of(cluster, "/api/v1/namespaces/default/pods", trusting(cluster, jane))
    assert code == 403
    assert json.loads(body)["message"] == (
        'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"'
    )


@module_loop
async def test_a_service_account_token_works_until_the_account_is_gone(cluster: Cluster) -> None:
    client = cluster.client("tester")
    account = Key("default", "robot")
    await client.create(SERVICEACCOUNTS, SERVICEACCOUNTS.describe(account))
    binding = CLUSTERROLEBINDINGS.describe(Key("", "robot-views")) | {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "robot"}],
    }
    await client.create(CLUSTERROLEBINDINGS, binding)
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await client.create(SERVICEACCOUNTS, asked, on=account, subresource="token")
    bearer = {"Authorization": f"Bearer {answer['status']['token']}"}
    path = "/api/v1/namespaces/default/configmaps"
    assert (await status_of(cluster, path, trusting(cluster), **bearer))[0] == 200
    await client.delete(SERVICEACCOUNTS, account)
    assert (await status_of(cluster, path, trusting(cluster), **bearer))[0] == 401


@module_loop
async def test_the_root_tells_where_to_look(cluster: Cluster) -> None:
    authority = pki.Authority(cluster.directory.pki, datetime.now(UTC))
    code, body = await status_of(cluster, "/", trusting(cluster, pki.admin_pair(authority)))
    assert code == 200
    assert {"/api/v1", "/apis/apps", "/apis/apps/v1", "/healthz", "/openapi/v3"} <= set(json.loads(body)["paths"])


@module_loop
async def test_every_write_leaves_an_audit_line_and_no_read_does(cluster: Cluster) -> None:
    authority = pki.Authority(cluster.directory.pki, datetime.now(UTC))
    context = trusting(cluster, pki.admin_pair(authority))
    url = f"{cluster.url}/api/v1/namespaces/default/configmaps"
    async with aiohttp.ClientSession() as session:
        async with session.post(url, ssl=context, json={"metadata": {"name": "audited"}}) as made:
            assert made.status == 201
        async with session.get(f"{url}/audited", ssl=context) as read:
            assert read.status == 200
    lines = [json.loads(line) for line in cluster.directory.audit.read_text().splitlines()]
    assert [(line["method"], line["code"]) for line in lines if "configmaps" in line["path"]] == [("POST", 201)]
    assert lines[-1]["groups"] == ["system:masters", "system:authenticated"]


@module_loop
async def test_a_command_in_a_pod_leaves_an_audit_line_even_if_it_is_refused(cluster: Cluster) -> None:
    authority = pki.Authority(cluster.directory.pki, datetime.now(UTC))
    context = trusting(cluster, pki.admin_pair(authority))
    path = "/api/v1/namespaces/default/pods/nobody/exec?command=ls&stdout=1"
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(cluster.url + path, ssl=context, protocols=["v5.channel.k8s.io"])
    assert refused.value.status == 404
    last = json.loads(cluster.directory.audit.read_text().splitlines()[-1])
    assert (last["method"], last["path"], last["code"]) == ("CONNECT", path, 404)
    assert "system:masters" in last["groups"]


@module_loop
async def test_a_write_through_a_proxy_leaves_an_audit_line(cluster: Cluster) -> None:
    authority = pki.Authority(cluster.directory.pki, datetime.now(UTC))
    context = trusting(cluster, pki.admin_pair(authority))
    path = "/api/v1/namespaces/default/pods/nobody/proxy/set"
    async with aiohttp.ClientSession() as session, session.post(cluster.url + path, ssl=context, data=b"1") as answer:
        assert answer.status == 404
    last = json.loads(cluster.directory.audit.read_text().splitlines()[-1])
    assert (last["method"], last["path"], last["code"]) == ("POST", path, 404)
    assert "system:masters" in last["groups"]
