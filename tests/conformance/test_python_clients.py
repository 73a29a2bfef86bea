# SPDX-License-Identifier: Apache-2.0
"""Other people's Python clients, unchanged: the official one, its asyncio twin, kr8s and lightkube."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kr8s
import kubernetes
import kubernetes_asyncio
import lightkube
import pytest
from kr8s.objects import ConfigMap as Kr8sConfigMap
from kr8s.objects import Pod as Kr8sPod
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap

# What these libraries leave open or warn of is their own business.
pytestmark = pytest.mark.filterwarnings("ignore")

POD = {"containers": [{"name": "a", "image": "b"}]}


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Sockets that a library leaves to the garbage collector are closed here, not in somebody else's test."""
    yield
    gc.collect()


def test_the_official_client(kubeconfig: Path, namespace: str) -> None:
    api = kubernetes.config.new_client_from_config(str(kubeconfig))
    with api:
        core = kubernetes.client.CoreV1Api(api)
        made = core.create_namespaced_config_map(namespace, {"metadata": {"name": "a"}, "data": {"x": "1"}})
        assert made.metadata.uid
        core.patch_namespaced_config_map("a", namespace, {"data": {"y": "2"}})
        assert core.read_namespaced_config_map("a", namespace).data == {"x": "1", "y": "2"}
        core.create_namespaced_pod(namespace, {"metadata": {"name": "p"}, "spec": POD})
        pod = core.read_namespaced_pod("p", namespace)
        assert (pod.status.phase, pod.spec.service_account_name) == ("Pending", "default")
        seen = [
            (event["type"], event["object"].metadata.name)
            for event in kubernetes.watch.Watch().stream(core.list_namespaced_pod, namespace, timeout_seconds=1)
        ]
        assert seen == [("ADDED", "p")]
        with pytest.raises(kubernetes.client.ApiException, match="AlreadyExists"):
            core.create_namespaced_pod(namespace, {"metadata": {"name": "p"}, "spec": POD})
        kubernetes.utils.create_from_dict(
            api, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}, namespace=namespace
        )
        assert core.delete_namespaced_pod("p", namespace).metadata.name == "p"


def test_the_official_dynamic_client(kubeconfig: Path, namespace: str) -> None:
    with kubernetes.config.new_client_from_config(str(kubeconfig)) as api:
        client = kubernetes.dynamic.DynamicClient(api)
        maps = client.resources.get(api_version="v1", kind="ConfigMap")
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}, "data": {"a": "b"}}
        maps.server_side_apply(body=body, namespace=namespace, field_manager="judge")
        assert maps.get(name="d", namespace=namespace).data.a == "b"
        found = maps.get(namespace=namespace, field_selector="metadata.name=d").items
        assert [item.metadata.name for item in found] == ["d"]


async def test_the_asyncio_client(kubeconfig: Path, namespace: str) -> None:
    async with await kubernetes_asyncio.config.new_client_from_config(str(kubeconfig)) as api:
        core = kubernetes_asyncio.client.CoreV1Api(api)
        await core.create_namespaced_config_map(namespace, {"metadata": {"name": "a"}})
        names: list[Any] = []
        async with kubernetes_asyncio.watch.Watch().stream(
            core.list_namespaced_config_map, namespace, field_selector="metadata.name=a", timeout_seconds=1
        ) as events:
            async for event in events:
                names.append((event["type"], event["object"].metadata.name))
        assert names == [("ADDED", "a")]
        await core.delete_namespaced_config_map("a", namespace)


def test_kr8s(kubeconfig: Path, namespace: str) -> None:
    api = kr8s.api(kubeconfig=str(kubeconfig), namespace=namespace)
    config = Kr8sConfigMap({"metadata": {"name": "k", "namespace": namespace}, "data": {"a": "b"}}, api=api)
    config.create()
    assert config.exists()
    config.patch({"data": {"c": "d"}})
    config.label({"x": "y"})
    found = list(api.get("configmaps", label_selector="x=y", namespace=namespace))
    assert [each.name for each in found] == ["k"]
    pod = Kr8sPod({"metadata": {"name": "p", "namespace": namespace}, "spec": POD}, api=api)
    pod.create()
    assert pod.status.phase == "Pending"
    pod.delete()
    config.delete()
    assert not config.exists()


def test_lightkube(kubeconfig: Path, namespace: str) -> None:
    settings = lightkube.KubeConfig.from_file(kubeconfig)
    client = lightkube.Client(config=settings, namespace=namespace, field_manager="judge")
    config = ConfigMap(metadata=ObjectMeta(name="l", namespace=namespace), data={"a": "b"})
    assert client.apply(config).metadata is not None
    config.data = {"a": "c"}
    assert client.apply(config).data == {"a": "c"}
    found = client.list(ConfigMap, fields={"metadata.name": "l"})
    assert [each.metadata.name for each in found if each.metadata] == ["l"]
    deployment = Deployment.from_dict(
        {
            "metadata": {"name": "d"},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD},
            },
        }
    )
    client.create(deployment)
    scale = client.get(Deployment.Scale, "d")
    assert scale.spec is not None
    assert scale.metadata is not None
    scale.metadata.resourceVersion = None  # the deployment's controller writes, too
    scale.spec.replicas = 1
    assert client.replace(scale, "d").spec is not None
    client.delete(Deployment, "d")
    client.close()


def test_two_clients_see_one_cluster(kubeconfig: Path, namespace: str) -> None:
    async def write() -> None:
        async with await kubernetes_asyncio.config.new_client_from_config(str(kubeconfig)) as api:
            core = kubernetes_asyncio.client.CoreV1Api(api)
            await core.create_namespaced_config_map(namespace, {"metadata": {"name": "shared"}})

    asyncio.run(write())
    with kubernetes.config.new_client_from_config(str(kubeconfig)) as api:
        core = kubernetes.client.CoreV1Api(api)
        assert core.read_namespaced_config_map("shared", namespace).metadata.name == "shared"
