# SPDX-License-Identifier: Apache-2.0
"""The logs of removed pods, over HTTP: found, read with the options of `pods/log`, and with its rights only."""

from __future__ import annotations

import ssl
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
import pytest_asyncio
from tests.integration.apiserver.http1 import administrator, until
from yarl import URL

from springtide.kube import logs
from springtide.kube.resources import NAMESPACES, ROLEBINDINGS, ROLES, Key
from springtide.local.access import pki
from springtide.local.access.attributes import Attributes
from springtide.local.access.identity import User
from springtide.local.cluster import Cluster, Options, running
from springtide.local.pod_logs import keeping, kept
from springtide.local.pod_logs.kept import Pod

pytestmark = pytest.mark.asyncio(loop_scope="module")

RBAC = "rbac.authorization.k8s.io"
API = "/apis/logs.springtide.dev/v1alpha1"
LOGS = [{"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}]
ONE_POD = [{"apiGroups": [""], "resources": ["pods/log"], "resourceNames": ["w-0"], "verbs": ["get"]}]
PODS_ONLY = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}]
OUR_GROUP = [{"apiGroups": ["logs.springtide.dev"], "resources": ["*"], "verbs": ["*"]}]
RULES = {"reader": LOGS, "narrow": ONE_POD, "blind": PODS_ONLY, "mistaken": OUR_GROUP}
CREATED = "2999-01-01T00:00:00Z"
"""Of pods: after the creation of every namespace."""

Ask = Callable[..., Awaitable[tuple[int, str]]]


def keep(cluster: Cluster, name: str = "w-0", namespace: str = "default", job: str = "mnist", **given: str) -> str:
    """Hand in a pod's logs as a node does; returns the name by which they are read."""
    uid, data = str(uuid.uuid4()), cluster.directory.path
    directory = data / "logs" / f"{namespace}_{name}_{uid}"
    labels = {"training.kubeflow.org/job-name": job}
    kept.write_card(directory, Pod(namespace, name, uid, job, "node-a", given.pop("created", CREATED), labels))
    for attempt, lines in (given or {"main_0": "hello"}).items():
        container, _, number = attempt.rpartition("_")
        (directory / container).mkdir(exist_ok=True)
        stamped = (f"2026-01-01T00:00:{second:02}.5Z stdout F {line}\n" for second, line in enumerate(lines.split(",")))
        (directory / container / f"{number}.log").write_text("".join(stamped))
    keeping.keep(data, directory)
    return f"{name}.{uid}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ask(cluster: Cluster) -> AsyncIterator[Ask]:
    client = cluster.client("tester")
    await client.create(NAMESPACES, NAMESPACES.describe(Key("", "other")))
    for name, rules in RULES.items():
        key = Key("default", name)
        await client.create(ROLES, ROLES.describe(key) | {"rules": rules})
        reference = {"apiGroup": RBAC, "kind": "Role", "name": name}
        subjects = [{"apiGroup": RBAC, "kind": "User", "name": name}]
        await client.create(ROLEBINDINGS, ROLEBINDINGS.describe(key) | {"roleRef": reference, "subjects": subjects})
    last = Attributes("get", "logs.springtide.dev", "podlogs", "", "", "default")
    await until(lambda: cluster.server.authorizer.authorize(User("mistaken"), last).allowed)
    authority = pki.Authority(cluster.directory.pki, datetime.now(UTC))

    def context(user: str) -> ssl.SSLContext:
        pair = authority.pair(user, pki.Subject(user)) if user else None
        return pki.client_context(authority.certificate, pair)

    contexts = {name: context(name) for name in (*RULES, "")} | {"administrator": administrator(cluster)}
    async with aiohttp.ClientSession() as session:

        async def asked(user: str, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
            async with session.request(
                method, URL(cluster.url + path, encoded=True), headers=headers, ssl=contexts[user]
            ) as found:
                return found.status, await found.text()

        yield asked


async def items(ask: Ask, user: str, namespace: str, query: str = "") -> list[Any]:
    code, body = await ask(user, f"{API}/namespaces/{namespace}/podlogs{query}")
    assert code == 200, body
    found: list[Any] = msgspec.json.decode(body)["items"]
    return found


async def test_a_reader_of_logs_finds_and_reads_them(cluster: Cluster, ask: Ask) -> None:
    name = keep(cluster, job="found", main_0="one,two,three")
    [item] = await items(ask, "reader", "default", "?labelSelector=training.kubeflow.org/job-name%3Dfound")
    assert (item["metadata"]["name"], item["pod"], item["job"], item["node"]) == (name, "w-0", "found", "node-a")
    assert item["containers"] == [{"name": "main", "restartCount": 0, "attempts": [0]}]
    path = f"{API}/namespaces/default/podlogs/{name}"
    assert msgspec.json.decode((await ask("reader", path))[1]) == item
    assert await ask("reader", f"{path}/log") == (200, "one\ntwo\nthree\n")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("?tailLines=1", "three\n"),
        ("?limitBytes=5", "one\nt"),
        ("?timestamps=true&tailLines=1", "2026-01-01T00:00:02.5Z three\n"),
        ("?sinceTime=2026-01-01T00:00:01Z", "two\nthree\n"),
        ("?sinceSeconds=60", ""),
        ("?sinceSeconds=9223372036854775807", "one\ntwo\nthree\n"),
        ("?follow=true", "one\ntwo\nthree\n"),
        ("?container=main&previous=true", "before\n"),
    ],
)
async def test_the_options_of_a_log_work(cluster: Cluster, ask: Ask, query: str, text: str) -> None:
    name = keep(cluster, main_1="one,two,three", main_0="before")
    assert await ask("reader", f"{API}/namespaces/default/podlogs/{name}/log{query}") == (200, text)


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("", 400, "choose one of: [init main]"),
        ("?container=../main", 400, 'no log of container \\"../main\\" of removed pod w-0 was kept'),
        ("?container=main&previous=true", 400, 'previous terminated container \\"main\\"'),
        ("?container=main&tailLines=-1", 422, "must be greater than or equal to 0"),
        ("?container=main&tailLines=x", 400, "invalid syntax"),
        ("?container=main&sinceTime=x", 400, "parsing time"),
    ],
)
async def test_wrong_options_are_refused(cluster: Cluster, ask: Ask, query: str, code: int, message: str) -> None:
    name = keep(cluster, main_0="x", init_0="y")
    answered, body = await ask("reader", f"{API}/namespaces/default/podlogs/{name}/log{query}")
    assert answered == code
    assert message in body


async def test_rights_are_those_of_the_log_of_the_pod(cluster: Cluster, ask: Ask) -> None:
    name, another = keep(cluster), keep(cluster, "w-1")
    here = f"{API}/namespaces/default/podlogs"
    for user in ("blind", "mistaken"):
        for path in (here, f"{here}/{name}", f"{here}/{name}/log", f"{here}/{name}/exec"):
            code, body = await ask(user, path)
            assert code == 403, (user, path)
            assert 'cannot get resource \\"pods/log\\"' in body
    assert (await ask("narrow", f"{here}/{name}/log"))[0] == 200
    assert (await ask("narrow", f"{here}/{another}/log"))[0] == 403
    assert (await ask("narrow", here))[0] == 403
    assert (await ask("", here))[0] in (401, 403)


@pytest.mark.parametrize("path", ["/namespaces/other/podlogs", "/podlogs", "/watch/namespaces/other/podlogs"])
async def test_rights_in_one_namespace_reach_no_other(cluster: Cluster, ask: Ask, path: str) -> None:
    name = keep(cluster, namespace="other")
    assert (await ask("reader", API + path))[0] == 403
    assert (await ask("reader", f"{API}{path}/{name}/log"))[0] == 403
    assert (await ask("reader", f"{API}/namespaces/default/podlogs/{name}/log"))[0] == 404


@pytest.mark.parametrize(
    "name",
    [
        "w-0", ".", "..", "...", "%2e%2e%2f%2e%2e%2fpki", "w-0.", ".4f2f1f4e-9c7e-4c1a-9d9e-0123456789ab", "lock",
        "w-0.%00", "w-0.*", "_", "w-0.4f2f1f4e-9c7e-4c1a-9d9e-0123456789ab%2f..", "x" * 5000,
    ],
)  # fmt: skip
async def test_hostile_names_find_nothing(ask: Ask, name: str) -> None:
    for rest in ("", "/log"):
        code, _ = await ask("administrator", f"{API}/namespaces/default/podlogs/{name}{rest}")
        assert code in (301, 400, 404), name


async def test_the_pods_name_must_be_that_of_the_log(cluster: Cluster, ask: Ask) -> None:
    """A right to one pod's log must not open that of another by its uid."""
    uid = keep(cluster, "w-1").rpartition(".")[2]
    assert (await ask("narrow", f"{API}/namespaces/default/podlogs/w-0.{uid}/log"))[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
async def test_nothing_can_be_changed(cluster: Cluster, ask: Ask, method: str) -> None:
    name = keep(cluster)
    for path in ("", f"/{name}", f"/{name}/log"):
        code, _ = await ask("administrator", f"{API}/namespaces/default/podlogs{path}", method)
        assert code == 405


async def test_the_group_is_in_no_discovery(ask: Ask) -> None:
    for path in ("/apis", "/openapi/v3", "/"):
        assert "logs.springtide.dev" not in (await ask("administrator", path))[1]
    assert (await ask("administrator", API))[0] == 404


async def test_impersonation_reads_as_the_other_user(cluster: Cluster, ask: Ask) -> None:
    keep(cluster)
    path = f"{API}/namespaces/default/podlogs"
    assert (await ask("administrator", path, **{"Impersonate-User": "reader"}))[0] == 200
    assert (await ask("administrator", path, **{"Impersonate-User": "blind"}))[0] == 403
    assert (await ask("blind", path, **{"Impersonate-User": "reader"}))[0] == 403


async def test_a_deleted_namespace_takes_its_logs_with_it(cluster: Cluster, ask: Ask) -> None:
    client, space = cluster.client("tester"), Key("", "short")
    await client.create(NAMESPACES, NAMESPACES.describe(space))
    keep(cluster, namespace="short")
    assert len(await items(ask, "administrator", "short")) == 1
    await client.delete(NAMESPACES, space)

    def of_namespace() -> int:
        top = cluster.directory.path / kept.KEPT
        return sum(entry.namespace == "short" for entry in kept.entries(top))

    await until(lambda: of_namespace() == 0)
    assert await items(ask, "administrator", "short") == []


async def test_a_new_namespace_of_the_same_name_shows_no_earlier_logs(cluster: Cluster, ask: Ask) -> None:
    await cluster.client("tester").create(NAMESPACES, NAMESPACES.describe(Key("", "again")))
    name = keep(cluster, namespace="again", created="2020-01-01T00:00:00Z")
    assert await items(ask, "administrator", "again") == []
    assert (await ask("administrator", f"{API}/namespaces/again/podlogs/{name}/log"))[0] == 404


async def test_logs_survive_a_restart_of_the_server_but_not_without_their_namespace(tmp_path: Path) -> None:
    async with running(Options(tmp_path, port=0)) as first:
        keep(first)
        keep(first, namespace="gone")
    async with running(Options(tmp_path, port=0)) as again:
        top = again.directory.path / kept.KEPT
        await until(lambda: [entry.namespace for entry in kept.entries(top)] == ["default"])
        assert len(await logs.kept(again.client("tester"), "default")) == 1


async def test_selectors_are_checked_and_bounded(ask: Ask) -> None:
    for selector in ("a in (", "a=" + "b" * 2000):
        code, _ = await ask("administrator", f"{API}/namespaces/default/podlogs?labelSelector={selector}")
        assert code == 400
