# SPDX-License-Identifier: Apache-2.0
"""A validating webhook that really listens: called over HTTPS, believed, and survived when it is down."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from springtide.kube.errors import ApiError, ServerError
from springtide.kube.resources import CONFIGMAPS, Key, Resource
from springtide.local.access import pki
from springtide.local.cluster import Cluster

pytestmark = pytest.mark.asyncio(loop_scope="module")

WEBHOOKS = Resource(
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", False
)


@asynccontextmanager
async def listening(folder: Path) -> AsyncIterator[tuple[str, str, list[dict[str, Any]]]]:
    """Refuses every object with a label `bad`; yields its URL, its CA and what it was asked."""
    asked: list[dict[str, Any]] = []

    async def judge(request: web.Request) -> web.Response:
        review = await request.json()
        asked.append(review["request"])
        bad = "bad" in (review["request"]["object"]["metadata"].get("labels") or {})
        answer = {"uid": review["request"]["uid"], "allowed": not bad, "warnings": ["seen by the hook"]}
        if bad:
            answer["status"] = {"code": 403, "message": "no bad labels here"}
        return web.json_response({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": answer})

    authority = pki.Authority(folder, datetime.now(UTC))
    pair = authority.pair("hook", pki.Subject("hook", hosts=("localhost", "127.0.0.1"), serves=True))
    app = web.Application()
    app.router.add_post("/judge", judge)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=pki.server_context(pair, authority.certificate))
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"https://127.0.0.1:{port}/judge", base64.b64encode(authority.certificate).decode(), asked
    finally:
        await runner.cleanup()


def a_configuration(name: str, url: str, ca: str, policy: str) -> dict[str, Any]:
    return WEBHOOKS.describe(Key("", name)) | {
        "webhooks": [
            {
                "name": "labels.springtide.dev",
                "clientConfig": {"url": url, "caBundle": ca},
                "rules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
                ],
                "objectSelector": {"matchLabels": {"judged": "yes"}},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "failurePolicy": policy,
            }
        ]
    }


def a_configmap(name: str, **labels: str) -> dict[str, Any]:
    obj = CONFIGMAPS.describe(Key("default", name))
    obj["metadata"]["labels"] = labels
    return obj


async def test_a_webhook_is_asked_and_may_refuse(cluster: Cluster, tmp_path: Path) -> None:
    client = cluster.client("tester")
    async with listening(tmp_path) as (url, ca, asked):
        await client.create(WEBHOOKS, a_configuration("judge", url, ca, "Fail"))
        await client.create(CONFIGMAPS, a_configmap("fine", judged="yes"))
        with pytest.raises(ApiError) as refused:
            await client.create(CONFIGMAPS, a_configmap("wicked", judged="yes", bad=""))
        await client.create(CONFIGMAPS, a_configmap("unasked"))
        await client.delete(WEBHOOKS, Key("", "judge"))
    assert refused.value.message == 'admission webhook "labels.springtide.dev" denied the request: no bad labels here'
    assert [request["name"] for request in asked] == ["fine", "wicked"]
    assert asked[0]["userInfo"]["username"] == "tester"


@pytest.mark.parametrize(("policy", "accepted"), [("Fail", False), ("Ignore", True)])
async def test_a_webhook_that_is_down_decides_by_its_failure_policy(
    cluster: Cluster, tmp_path: Path, policy: str, accepted: bool
) -> None:
    client = cluster.client("tester")
    async with listening(tmp_path) as (url, ca, _):
        pass
    name = f"down-{policy.lower()}"
    await client.create(WEBHOOKS, a_configuration(name, url, ca, policy))
    try:
        if accepted:
            await client.create(CONFIGMAPS, a_configmap(name, judged="yes"))
        else:
            with pytest.raises(ServerError, match="failed calling webhook"):
                await client.create(CONFIGMAPS, a_configmap(name, judged="yes"))
    finally:
        await client.delete(WEBHOOKS, Key("", name))
