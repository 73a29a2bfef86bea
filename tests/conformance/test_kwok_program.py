# SPDX-License-Identifier: Apache-2.0
"""KWOK, a client-go program, plays nodes of the embedded cluster: they get ready, their pods run and end."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conformance.programs import Kubectl, eventually, tool

STAGES = Path(__file__).with_name("kwok_stages.yaml")

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def kubectl(kubeconfig: Path, namespace: str, tmp_path: Path) -> Kubectl:
    return Kubectl(tool("kubectl"), kubeconfig, namespace, tmp_path)


@pytest.fixture
def node(kubectl: Kubectl, kubeconfig: Path, tmp_path: Path) -> Iterator[str]:
    name = f"{kubectl.namespace}-node"
    with (tmp_path / "kwok.log").open("wb") as output:
        words = [tool("kwok"), f"--kubeconfig={kubeconfig}", f"--manage-nodes-with-label-selector=judge={name}"]
        process = subprocess.Popen(
            [*words, f"--config={STAGES}", "--node-lease-duration-seconds=40", "--node-ip=127.0.0.1"],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=kubectl.environment,
        )
        try:
            made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"judge": name}}}
            kubectl("create", "-f", "-", stdin=json.dumps(made))
            yield name
        finally:
            process.terminate()
            process.wait(20)
            kubectl("delete", "node", name, "--ignore-not-found")


def test_nodes_get_ready_and_pods_run(kubectl: Kubectl, node: str) -> None:
    kubectl("wait", "--for=condition=Ready", f"node/{node}", "--timeout=25s")
    lease = kubectl("get", "lease", node, "--namespace=kube-node-lease", "-o", "jsonpath={.spec.leaseDurationSeconds}")
    assert lease == "40"
    kubectl("run", "p", "--image=x")
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": node},
    }
    path = f"/api/v1/namespaces/{kubectl.namespace}/pods/p/binding"
    kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(binding))
    kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=25s")
    assert "Running" in kubectl("get", "pod", "p")
    kubectl("delete", "pod", "p", "--timeout=25s")


def test_a_deployment_gets_its_pods_running(kubectl: Kubectl, node: str) -> None:
    kubectl("wait", "--for=condition=Ready", f"node/{node}", "--timeout=25s")
    kubectl("create", "deployment", "web", "--image=x", "--replicas=2")
    patch = {"spec": {"template": {"spec": {"nodeName": node}}}}
    kubectl("patch", "deployment", "web", "-p", json.dumps(patch))
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/web", "--timeout=25s")
    kubectl("delete", "deployment", "web", "--cascade=foreground", "--timeout=25s")
    eventually(lambda: kubectl("get", "pods", "-o", "name") == "", "the pods to go")
