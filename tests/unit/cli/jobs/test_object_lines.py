# SPDX-License-Identifier: Apache-2.0
"""Objects as Arena writes them in a line."""

from __future__ import annotations

import pytest
from tests.unit.cli.jobs.cluster import FakeCluster
from tests.unit.kube.fake_api import answer

from springtide.cli.jobs import object_lines
from springtide.kube.client import Client
from springtide.kube.resources import Key, Resource


@pytest.mark.parametrize(
    ("line", "resource"),
    [
        ("secret/a", "secrets"),
        ("deployment.apps/a", "deployments.apps"),
        (" configmap/a\n", "configmaps"),
        ("role.rbac.authorization.k8s.io/a", "roles.rbac.authorization.k8s.io"),
    ],
)
async def test_built_in_kinds_are_known(line: str, resource: str) -> None:
    found = await object_lines.read(Client(FakeCluster()), line, "team")
    assert found is not None
    assert (str(found[0]), found[1]) == (resource, Key("team", "a"))


async def test_other_kinds_are_asked_for() -> None:
    api = FakeCluster()
    resources = [{"name": "tfjobs/status", "kind": "TFJob"}, {"name": "tfjobs", "kind": "TFJob", "namespaced": True}]
    api.answers += [answer({"preferredVersion": {"version": "v1"}}), answer({"resources": resources})]
    found = await object_lines.read(Client(api), "tfjob.kubeflow.org/a", "team")
    assert found == (Resource("kubeflow.org", "v1", "tfjobs", "TFJob"), Key("team", "a"))


@pytest.mark.parametrize("line", ["", "nonsense", "secret/", "widget.example.com/a"])
async def test_what_is_unknown_is_nothing(line: str) -> None:
    assert await object_lines.read(Client(FakeCluster()), line, "team") is None


def test_the_resource_of_an_object_that_is_to_be_written() -> None:
    job = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob"}
    assert str(object_lines.resource_of(job)) == "mpijobs.kubeflow.org"
    with pytest.raises(KeyError):
        object_lines.resource_of({"apiVersion": "v1", "kind": "Widget"})
