# SPDX-License-Identifier: Apache-2.0
"""One whole embedded cluster for the judges, with a namespace of its own for every test."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conformance.programs import CRDS, Kubectl, eventually, tool
from tests.contract.apiserver.servers import embedded


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Leads to a running cluster, its controllers included."""
    directory = tmp_path_factory.mktemp("cluster")
    with embedded(directory, controllers=True):
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


@pytest.fixture(scope="module", params=["embedded", "oracle"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl at a server that has the CRDs."""
    embedded = request.param == "embedded"
    named = os.environ.get("SPRINGTIDE_ORACLE_KUBECONFIG")
    assert embedded or named, "SPRINGTIDE_ORACLE_KUBECONFIG is not set: run this with `make test-oracle`"
    kubeconfig = request.getfixturevalue("kubeconfig") if embedded else Path(str(named))
    kubectl = Kubectl(tool("kubectl"), kubeconfig, "default", tmp_path_factory.mktemp("home"))
    directory = str(CRDS[0].parent)
    # Two processes of this suite may do this at once on the real server, and one of them comes second.
    eventually(lambda: kubectl.run("apply", "-f", directory).returncode == 0, "the CRDs are applied")
    kubectl("wait", "--for=condition=Established", "-f", directory)
    eventually(lambda: kubectl.run("get", "mpijobs").returncode == 0, "the kind is served")
    return kubectl


@pytest.fixture
def admin(server: Kubectl) -> Kubectl:
    """The same in a namespace of its own."""
    name = f"crds-{uuid.uuid4().hex[:8]}"
    server("create", "namespace", name)
    return replace(server, namespace=name)
