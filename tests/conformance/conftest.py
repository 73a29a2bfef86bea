# SPDX-License-Identifier: Apache-2.0
"""One whole embedded cluster for the judges, with a namespace of its own for every test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conformance.programs import Kubectl, eventually, tool
from tests.contract.apiserver.servers import embedded


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Leads to a running cluster, its controllers included."""
    directory = tmp_path_factory.mktemp("cluster")
    with embedded(directory, upkeep=True):
        yield directory / "kubeconfig"


@pytest.fixture
def namespace(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A new one, ready for pods."""
    name = f"judged-{uuid.uuid4().hex[:8]}"
    admin = Kubectl(tool("kubectl"), kubeconfig, name, tmp_path_factory.mktemp("home"))
    admin("create", "namespace", name)
    ready = ("get", "serviceaccount", "default")
    eventually(lambda: admin.run(*ready).returncode == 0, f"a service account in {name}")
    return name


@pytest.fixture(params=["kubectl", "kubectl-old"])
def kubectl(
    request: pytest.FixtureRequest, kubeconfig: Path, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> Kubectl:
    """The current kubectl and an older one, because people have both."""
    return Kubectl(tool(request.param), kubeconfig, namespace, tmp_path_factory.mktemp("home"))
