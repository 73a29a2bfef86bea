# SPDX-License-Identifier: Apache-2.0
"""What does nothing is not asked how it is; a pod becomes ready like that in no other way."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.kube.fake_api import FakeApi

from springtide.kube.client import Client
from springtide.kube.informer import Informers
from springtide.local.environments.environment import Environment
from springtide.local.environments.shelf import Environments
from springtide.local.kubelet.containers.bodies import Maker
from springtide.local.kubelet.node.facts import Facts


class NoDevices:
    def allocate(self, pod_uid: str, container: str, wanted: object) -> dict[str, str]:
        return {}

    def release(self, pod_uid: str) -> None:
        return None


@pytest.fixture
def maker(tmp_path: Path) -> Maker:
    (tmp_path / "environments/mine").mkdir(parents=True)
    environments = Environments(tmp_path / "environments", Environment("tide", "/usr"))
    environments.put(Environment("mine", "/usr", images=("mine/training-operator",)))
    client = Client(FakeApi())
    return Maker(client, Informers(client), Facts("n1", tmp_path), environments, NoDevices())


@pytest.mark.parametrize(
    ("image", "idle"),
    [
        ("mpioperator/mpi-operator:latest", True),
        ("kubeflow/training-operator:v1", True),
        ("mine/training-operator:v1", False),
        ("mpi-operator/train:1", False),
        ("train:mpi-operator", False),
        ("train@sha256:mpi-operator", False),
        ("x\n/mpi-operator", True),
        ("built-in mpi-operator", False),
        ("", False),
    ],
)
def test_an_image_of_ones_own_is_run_and_asked(maker: Maker, image: str, idle: bool) -> None:
    assert maker.stands_in(image) is idle
    assert bool(maker.environment(image).notice) is idle, "what is not asked runs nothing of its own"
