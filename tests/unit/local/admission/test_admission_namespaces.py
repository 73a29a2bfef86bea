# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from tests.unit.local.admission.builders import World, a_pod, a_request

from springtide.local.admission.namespaces import NamespaceLifecycle
from springtide.local.status import StatusError


def a_namespace(phase: str = "Active") -> tuple[str, dict[str, Any]]:
    return "namespaces", {"metadata": {"name": "default"}, "status": {"phase": phase}}


async def test_an_active_namespace_takes_everything() -> None:
    await NamespaceLifecycle(World(a_namespace())).admit(a_request(a_pod()))


async def test_a_missing_namespace_is_not_found() -> None:
    with pytest.raises(StatusError) as refused:
        await NamespaceLifecycle(World()).admit(a_request(a_pod()))
    assert (refused.value.code, refused.value.message) == (404, 'namespaces "default" not found')
    assert refused.value.details == {"name": "default", "kind": "namespaces"}


async def test_a_terminating_namespace_takes_nothing_new() -> None:
    plugin = NamespaceLifecycle(World(a_namespace("Terminating")))
    with pytest.raises(StatusError) as refused:
        await plugin.admit(a_request(a_pod()))
    assert (refused.value.code, refused.value.message) == (
        403,
        'pods "p" is forbidden: unable to create new content in namespace default because it is being terminated',
    )
    assert refused.value.details["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace default is being terminated",
            "field": "metadata.namespace",
        }
    ]
    await plugin.admit(a_request(a_pod(), operation="UPDATE", old=a_pod()))


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_three_namespaces_stay_for_ever(name: str) -> None:
    request = a_request(None, "namespaces", "Namespace", operation="DELETE", name=name)
    with pytest.raises(StatusError) as refused:
        await NamespaceLifecycle(World()).admit(request)
    assert refused.value.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


async def test_others_may_go() -> None:
    request = a_request(None, "namespaces", "Namespace", operation="DELETE", name="team")
    await NamespaceLifecycle(World()).admit(request)


@pytest.mark.parametrize(
    ("operation", "storage", "handled"),
    [
        ("CREATE", "configmaps", True),
        ("UPDATE", "mpijobs.kubeflow.org", True),
        ("DELETE", "configmaps", False),
        ("DELETE", "namespaces", True),
        ("CREATE", "namespaces", False),
        ("CREATE", "localsubjectaccessreviews.authorization.k8s.io", False),
    ],
)
def test_it_cares_for_what_lives_in_namespaces(operation: str, storage: str, handled: bool) -> None:
    assert NamespaceLifecycle(World()).handles(operation, storage, "") is handled
