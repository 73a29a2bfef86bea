# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from tests.unit.local.admission.builders import World, a_pod, a_request

from springtide.local.admission.serviceaccounts import MOUNT_PATH, ServiceAccounts
from springtide.local.status import StatusError


def an_account(name: str = "default", **fields: Any) -> tuple[str, dict[str, Any]]:
    return "serviceaccounts", {"metadata": {"name": name, "namespace": "default"}, **fields}


async def no_sleep(seconds: float) -> None:
    return None


def plugin(world: World) -> ServiceAccounts:
    return ServiceAccounts(world, suffix=lambda: "abcde", sleep=no_sleep)


async def admitted(pod: dict[str, Any], *accounts: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    await plugin(World(*accounts or [an_account()])).admit(a_request(pod))
    spec: dict[str, Any] = pod["spec"]
    return spec


TOKEN_MOUNT = {"name": "kube-api-access-abcde", "readOnly": True, "mountPath": MOUNT_PATH}


async def test_a_pod_gets_the_default_account_and_its_token() -> None:
    spec = await admitted(a_pod(initContainers=[{"name": "init"}]))
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    assert spec["containers"][0]["volumeMounts"] == [TOKEN_MOUNT]
    assert spec["initContainers"][0]["volumeMounts"] == [TOKEN_MOUNT]
    assert spec["volumes"] == [
        {
            "name": "kube-api-access-abcde",
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    {
                        "downwardAPI": {
                            "items": [
                                {
                                    "path": "namespace",
                                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                                }
                            ]
                        }
                    },
                ],
                "defaultMode": 420,
            },
        }
    ]


async def test_the_old_field_name_is_understood() -> None:
    spec = await admitted(a_pod(serviceAccount="old"), an_account("old"))
    assert spec["serviceAccountName"] == "old"


@pytest.mark.parametrize(
    ("pod_says", "account_says", "mounted"),
    [(None, None, True), (None, False, False), (True, False, True), (False, None, False), (False, True, False)],
)
async def test_the_pod_decides_about_mounting_before_the_account(
    pod_says: bool | None, account_says: bool | None, mounted: bool
) -> None:
    account = an_account(automountServiceAccountToken=account_says)
    spec = await admitted(a_pod(automountServiceAccountToken=pod_says), account)
    assert ("volumes" in spec) is mounted


async def test_a_container_with_its_own_mount_there_keeps_it() -> None:
    own = {"name": "mine", "mountPath": MOUNT_PATH}
    spec = await admitted(a_pod(containers=[{"name": "c", "volumeMounts": [own]}]))
    assert spec["containers"][0]["volumeMounts"] == [own]
    assert "volumes" not in spec


async def test_a_token_volume_that_is_there_is_used() -> None:
    volume = {"name": "kube-api-access-zzzzz", "emptyDir": {}}
    spec = await admitted(a_pod(volumes=[volume]))
    assert spec["volumes"] == [volume]
    assert spec["containers"][0]["volumeMounts"][0]["name"] == "kube-api-access-zzzzz"


@pytest.mark.parametrize(
    ("own", "expected"), [([], [{"name": "reg"}]), ([{"name": "mine"}], [{"name": "mine"}])], ids=["none", "own"]
)
async def test_pull_secrets_come_from_the_account_unless_the_pod_has_some(own: list[Any], expected: list[Any]) -> None:
    spec = await admitted(a_pod(imagePullSecrets=own), an_account(imagePullSecrets=[{"name": "reg"}]))
    assert spec["imagePullSecrets"] == expected


async def test_a_missing_account_is_named_before_the_name_is_made_up() -> None:
    pod = a_pod("g-x7k2p", generated="g-", serviceAccountName="nope")
    with pytest.raises(StatusError) as refused:
        await plugin(World()).admit(a_request(pod))
    assert refused.value.message == (
        'pods "g-" is forbidden: error looking up service account default/nope: serviceaccount "nope" not found'
    )


async def test_the_default_account_is_waited_for() -> None:
    world = World()

    async def arrives(seconds: float) -> None:
        world.put(*an_account())

    pod = a_pod()
    await ServiceAccounts(world, sleep=arrives).admit(a_request(pod))
    assert pod["spec"]["serviceAccountName"] == "default"


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"serviceAccountName": "x"}, "a mirror pod may not reference service accounts"),
        ({"volumes": [{"name": "v", "secret": {}}]}, "a mirror pod may not reference secrets"),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {}}]}}]},
            "a mirror pod may not use ServiceAccountToken volume projections",
        ),
    ],
    ids=["account", "secret", "token"],
)
async def test_a_mirror_pod_reaches_for_nothing(spec: dict[str, Any], complaint: str) -> None:
    pod = a_pod(**spec)
    pod["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    with pytest.raises(StatusError, match=complaint):
        await plugin(World()).admit(a_request(pod))
