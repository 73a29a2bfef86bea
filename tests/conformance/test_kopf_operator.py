# SPDX-License-Identifier: Apache-2.0
"""A kopf operator runs unchanged: finalizers, status patches, events, watches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conformance.programs import Kubectl, eventually, tool

OPERATOR = Path(__file__).with_name("operator_example.py")


@pytest.mark.timeout(120)
def test_an_operator_does_its_work(kubeconfig: Path, namespace: str, tmp_path: Path) -> None:
    kubectl = Kubectl(tool("kubectl"), kubeconfig, namespace, tmp_path)
    group = f"{namespace}.example.com"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"boxes.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "boxes", "singular": "box", "kind": "Box"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    kubectl("create", "-f", "-", stdin=json.dumps(crd))
    kubectl("wait", "--for=condition=Established", f"crd/boxes.{group}", "--timeout=10s")
    words = [sys.executable, "-m", "kopf", "run", "--standalone", f"--namespace={namespace}", str(OPERATOR)]
    log = tmp_path / "operator.log"
    variables = os.environ | {"KUBECONFIG": str(kubeconfig), "BOX_GROUP": group}
    with log.open("wb") as output:
        process = subprocess.Popen(words, env=variables, stdout=output, stderr=subprocess.STDOUT)
        try:
            _life_of_a_box(kubectl, group)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{log.read_text()[-3000:]}") from None
        finally:
            process.terminate()
            process.wait(20)


def _life_of_a_box(kubectl: Kubectl, group: str) -> None:
    box = {"apiVersion": f"{group}/v1", "kind": "Box", "metadata": {"name": "b"}, "spec": {"size": 3}}
    kubectl("create", "-f", "-", stdin=json.dumps(box))
    size = ("get", "configmap", "b", "--ignore-not-found", "-o", "jsonpath={.data.size}")
    eventually(lambda: kubectl(*size) == "3", "the operator to make a config map")
    status = ("get", f"boxes.{group}", "b", "-o", "jsonpath={.status.create.configmap}")
    eventually(lambda: kubectl(*status) == "b", "the operator to report")
    finalizers = ("get", f"boxes.{group}", "b", "-o", "jsonpath={.metadata.finalizers[0]}")
    assert kubectl(*finalizers) == "boxes.example.com/kopf"
    kubectl("patch", f"boxes.{group}", "b", "--type=merge", "-p", '{"spec":{"size":5}}')
    eventually(lambda: kubectl(*size) == "5", "the operator to follow the change")
    kubectl("delete", f"boxes.{group}", "b", "--timeout=25s")
    eventually(lambda: kubectl("get", "configmap", "b", "--ignore-not-found") == "", "the config map to go too")
