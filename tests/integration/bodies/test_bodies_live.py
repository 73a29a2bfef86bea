# SPDX-License-Identifier: Apache-2.0
"""Volumes and variables of pods on a live embedded cluster: made, followed, renewed and given back."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.integration.bodies.node import Node, a_node

from springtide.kube.resources import CONFIGMAPS, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, SECRETS
from springtide.local.kubelet import tokens
from springtide.local.kubelet.containers import bodies
from springtide.local.kubelet.containers.bodies import NotReady

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def mounting(name: str, **volume: Any) -> dict[str, Any]:
    mount = {"name": name, "mountPath": f"/{name}"}
    return {"container": {"volumeMounts": [mount]}, "volumes": [{"name": name, **volume}]}


async def test_a_pod_gets_its_token_and_the_clusters_authority(tmp_path: Path) -> None:
    async with a_node(tmp_path) as node:
        pod, directory = await node.pod()
        prepared = await node.maker.prepare(pod, directory)
        body = node.maker.container(pod, "c", 0, prepared)
        account = next(mount for mount in body.mounts if mount.target == ACCOUNT)
        assert account.read_only
        assert (Path(account.source) / "namespace").read_text() == "here"
        assert "BEGIN CERTIFICATE" in (Path(account.source) / "ca.crt").read_text()
        claims = (Path(account.source) / "token").read_text().split(".")[1]
        decoded = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        assert decoded["kubernetes.io"]["pod"]["uid"] == pod["metadata"]["uid"]
        assert body.env["KUBERNETES_SERVICE_HOST"] == "10.96.0.1"


async def test_a_volume_follows_its_config_map(tmp_path: Path) -> None:
    async with a_node(tmp_path) as node:
        await node.world.create(CONFIGMAPS, "hosts", data={"hostfile": "a\n"})
        pod, directory = await node.pod(**mounting("etc", configMap={"name": "hosts"}))
        prepared = await node.maker.prepare(pod, directory)
        file = prepared.volumes["etc"].path / "hostfile"
        assert file.read_text() == "a\n"
        node.changed.clear()
        await node.world.patch(CONFIGMAPS, "hosts", {"data": {"hostfile": "a\nb\n", "more": "x"}})
        await node.until_changed()
        await node.maker.refresh(pod, directory)
        assert file.read_text() == "a\nb\n"
        assert os.readlink(prepared.volumes["etc"].path / "more") == "..data/more"


async def test_a_volume_is_as_new_as_the_server_when_asked_for(tmp_path: Path) -> None:
    """Whatever the watches have told by then."""
    async with a_node(tmp_path) as node:
        await node.world.create(CONFIGMAPS, "hosts", data={"hostfile": "a"})
        pod, directory = await node.pod(**mounting("etc", configMap={"name": "hosts"}))
        prepared = await node.maker.prepare(pod, directory)
        await node.stop_watching()
        for text in ("b", "c"):
            await node.world.patch(CONFIGMAPS, "hosts", {"data": {"hostfile": text}})
            await node.maker.refresh(pod, directory, fresh=True)
            assert (prepared.volumes["etc"].path / "hostfile").read_text() == text
        await node.maker.refresh(pod, directory)
        assert (prepared.volumes["etc"].path / "hostfile").read_text() == "c"


async def test_a_pod_waits_for_its_secret_and_then_starts(tmp_path: Path) -> None:
    async with a_node(tmp_path) as node:
        pod, directory = await node.pod(**mounting("keys", secret={"secretName": "ssh", "defaultMode": 0o600}))
        with pytest.raises(NotReady) as caught:
            await node.maker.prepare(pod, directory)
        assert caught.value.reason == "FailedMount"
        assert caught.value.message == 'MountVolume.SetUp failed for volume "keys" : secret "ssh" not found'
        await node.world.create(SECRETS, "ssh", stringData={"id": "key"})
        await node.until_changed()
        prepared = await node.maker.prepare(pod, directory)
        file = prepared.volumes["keys"].path / "id"
        assert (file.read_text(), file.stat().st_mode & 0o777) == ("key", 0o600)


async def test_a_config_map_made_this_moment_is_found(tmp_path: Path) -> None:
    async with a_node(tmp_path) as node:
        first, directory = await node.pod("first")
        await node.maker.prepare(first, directory)
        pod, directory = await node.pod(container={"envFrom": [{"configMapRef": {"name": "c"}}]})
        await node.world.create(CONFIGMAPS, "c", data={"A": "1"})
        prepared = await node.maker.prepare(pod, directory)
        assert node.maker.container(pod, "c", 0, prepared).env["A"] == "1"


async def test_variables_are_read_anew_at_each_attempt(tmp_path: Path) -> None:
    async with a_node(tmp_path) as node:
        await node.world.create(CONFIGMAPS, "c", data={"A": "1"})
        pod, directory = await node.pod(container={"envFrom": [{"configMapRef": {"name": "c"}}]})
        prepared = await node.maker.prepare(pod, directory)
        node.changed.clear()
        await node.world.patch(CONFIGMAPS, "c", {"data": {"A": "2"}})
        await node.until_changed()
        assert node.maker.container(pod, "c", 1, prepared).env["A"] == "2"
        await node.world.delete(CONFIGMAPS, "c")
        await node.until_changed()
        with pytest.raises(NotReady, match='configmap "c" not found'):
            node.maker.container(pod, "c", 2, prepared)


async def test_labels_reach_a_running_pod(tmp_path: Path) -> None:
    async with a_node(tmp_path) as node:
        items = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
        pod, directory = await node.pod(**mounting("info", downwardAPI={"items": items}))
        prepared = await node.maker.prepare(pod, directory)
        pod = await node.world.patch(PODS, "p", {"metadata": {"labels": {"role": "chief"}}})
        await node.maker.refresh(pod, directory)
        assert (prepared.volumes["info"].path / "labels").read_text() == 'role="chief"'


async def test_a_token_is_renewed_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "TOKEN_CHECK", 0.01)
    monkeypatch.setattr(tokens.Token, "is_due", lambda token, now: True)
    async with a_node(tmp_path) as node:
        pod, directory = await node.pod()
        prepared = await node.maker.prepare(pod, directory)
        file = next(volume.path for volume in prepared.volumes.values()) / "token"
        first = file.read_text()
        node.changed.clear()
        await node.until_changed()
        await node.maker.refresh(pod, directory)
        assert file.read_text() != first


async def test_a_claim_becomes_a_directory_of_this_machine(tmp_path: Path) -> None:
    async with a_node(tmp_path) as node:
        claim = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "",
            "volumeName": "pv",
        }
        await node.world.create(PERSISTENTVOLUMECLAIMS, "data", spec=claim)
        pod, directory = await node.pod(**mounting("d", persistentVolumeClaim={"claimName": "data"}))
        with pytest.raises(NotReady) as caught:
            await node.maker.prepare(pod, directory)
        assert caught.value.message == (
            "Unable to attach or mount volumes: unmounted volumes=[d], unattached volumes=[], "
            "failed to process volumes=[d]: error processing PVC here/data: PVC is not bound"
        )
        volume = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": f"{tmp_path}/pv"},
        }
        await node.world.create(PERSISTENTVOLUMES, "pv", spec=volume)
        await node.world.until_object(
            PERSISTENTVOLUMECLAIMS, "data", lambda found: found["status"].get("phase") == "Bound"
        )
        prepared = await node.maker.prepare(pod, directory)
        assert prepared.volumes["d"].path == tmp_path / "pv"
        assert (tmp_path / "pv").is_dir()


async def test_a_volume_that_nobody_mounts_holds_nobody_up(tmp_path: Path) -> None:
    async with a_node(tmp_path) as node:
        pod, directory = await node.pod(volumes=[{"name": "v", "configMap": {"name": "none"}}])
        assert "v" not in (await node.maker.prepare(pod, directory)).volumes


async def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    async with a_node(tmp_path) as node:
        (node.data / "file").touch()
        pod, directory = await node.pod(**mounting("h", hostPath={"path": f"{node.data}/file/x"}))
        with pytest.raises(NotReady) as caught:
            await node.maker.prepare(pod, directory)
        assert caught.value.message == (
            f'MountVolume.SetUp failed for volume "h" : {node.data}/file/x: not a directory'
        )


async def test_another_agent_finds_everything_as_it_was(tmp_path: Path) -> None:
    async with a_node(tmp_path) as node:
        await node.world.create(CONFIGMAPS, "c", data={"A": "1"})
        pod, directory = await node.pod(**mounting("v", configMap={"name": "c"}))
        first = await node.maker.prepare(pod, directory)
        before = os.readlink(first.volumes["v"].path / "..data")
        again = Node(node.world, node.data, node.informers)
        second = await again.maker.prepare(pod, directory)
        assert second == first
        assert os.readlink(second.volumes["v"].path / "..data") == before


async def test_nothing_is_followed_for_pods_that_are_gone(tmp_path: Path) -> None:
    async with a_node(tmp_path) as node:
        await node.world.create(CONFIGMAPS, "c", data={"A": "1"})
        pod, directory = await node.pod(**mounting("v", configMap={"name": "c"}))
        await node.maker.prepare(pod, directory)
        await node.maker.remove(pod)
        node.changed.clear()
        await node.world.patch(CONFIGMAPS, "c", {"data": {"A": "2"}})
        other, directory = await node.pod("other", **mounting("v", configMap={"name": "c"}))
        prepared = await node.maker.prepare(other, directory)
        assert (prepared.volumes["v"].path / "A").read_text() == "2"
        assert {key.name for key in node.changed} <= {"other"}


async def test_the_built_in_kubectl_is_a_program(tmp_path: Path) -> None:
    async with a_node(tmp_path) as node:
        for variables in ({}, {"PATH": "/nowhere"}, {"PATH": os.environ["PATH"]}):
            process = await asyncio.create_subprocess_exec(
                node.data / "bin/kubectl", "version", "--client", env=variables, stdout=asyncio.subprocess.PIPE
            )
            out, _ = await process.communicate()
            assert (process.returncode, out) == (0, b"Client Version: springtide (built in)\n")
