# SPDX-License-Identifier: Apache-2.0
"""kubectl wait, delete in every cascade mode, rollout, drain."""

from __future__ import annotations

import json

import pytest
from tests.conformance.programs import Kubectl, eventually

WEB = ("deployment", "web")


def gone(kubectl: Kubectl, *what: str) -> bool:
    return kubectl("get", *what, "--ignore-not-found", "-o", "name") == ""


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    """A deployment with two pods; no node runs them."""
    kubectl("create", *WEB, "--image=web:1", "--replicas=2")
    eventually(lambda: len(kubectl("get", "pods", "-o", "name").split()) == 2, "two pods")
    return kubectl


def test_wait_for_a_condition_and_for_a_value(kubectl: Kubectl) -> None:
    kubectl("run", "p", "--image=x")
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}}
    kubectl("patch", "pod", "p", "--subresource=status", "--type=merge", "-p", json.dumps(status))
    assert "condition met" in kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=10s")
    assert "condition met" in kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/p", "--timeout=10s")
    assert "timed out" in kubectl.refused("wait", "--for=condition=Odd", "pod/p", "--timeout=1s")


def test_wait_for_the_end(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "c")
    process = kubectl.start("wait", "--for=delete", "configmap/c", "--timeout=20s")
    kubectl("delete", "configmap", "c")
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 0, out


def test_background_deletion_takes_the_dependents_along(web: Kubectl) -> None:
    web("delete", *WEB, "--cascade=background")
    eventually(lambda: gone(web, "replicasets") and gone(web, "pods"), "replica sets and pods to go")


def test_foreground_deletion_waits_for_the_dependents(web: Kubectl) -> None:
    web("delete", *WEB, "--cascade=foreground", "--timeout=25s")
    assert gone(web, "replicasets")
    assert gone(web, "pods")


def test_orphaning_leaves_the_dependents(web: Kubectl) -> None:
    web("delete", *WEB, "--cascade=orphan")
    assert len(web("get", "pods", "-o", "name").split()) == 2
    sets = json.loads(web("get", "replicasets", "-o", "json"))["items"]
    eventually(
        lambda: "ownerReferences" not in json.loads(web("get", "replicasets", "-o", "json"))["items"][0]["metadata"],
        "the replica set to lose its owner",
    )
    web("delete", "replicaset", sets[0]["metadata"]["name"], "--cascade=foreground", "--timeout=25s")


def test_delete_many(kubectl: Kubectl) -> None:
    for name in ("a", "b", "c"):
        kubectl("create", "configmap", name)
    kubectl("label", "configmap", "a", "b", "go=yes")
    kubectl("delete", "configmap", "-l", "go=yes")
    kubectl("delete", "configmap", "c", "--now")
    kubectl("create", "secret", "generic", "s")
    kubectl("delete", "secret", "--all")
    assert gone(kubectl, "secrets")
    assert "not found" in kubectl.refused("delete", "configmap", "zzz")
    kubectl("delete", "configmap", "zzz", "--ignore-not-found")


def test_delete_by_force(kubectl: Kubectl) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"nodeName": "nowhere", "containers": [{"name": "a", "image": "b"}]},
    }
    kubectl("create", "-f", "-", stdin=json.dumps(pod))
    kubectl("delete", "pod", "p", "--wait=false")
    assert "Terminating" in kubectl("get", "pod", "p")
    kubectl("delete", "pod", "p", "--grace-period=0", "--force")
    assert gone(kubectl, "pod", "p")


def test_a_deleted_namespace_goes_with_all_that_is_in_it(kubectl: Kubectl) -> None:
    name = f"{kubectl.namespace}-short"
    kubectl("create", "namespace", name)
    kubectl("create", "configmap", "c", f"--namespace={name}")
    kubectl("delete", "namespace", name, "--timeout=25s")
    assert "not found" in kubectl.refused("get", "namespace", name)


def test_rollout(web: Kubectl) -> None:
    def all_ready() -> None:
        ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
        for pod in web("get", "pods", "-o", "name").split():
            web.run("patch", pod, "--subresource=status", "--type=merge", "-p", json.dumps(ready))

    def rolled_out() -> bool:
        all_ready()
        return web.run("rollout", "status", "deployment/web", "--timeout=1s").returncode == 0

    eventually(rolled_out, "the first rollout")
    web("set", "image", "deployment/web", "web=web:2")
    eventually(rolled_out, "the second rollout")
    assert "successfully rolled out" in web("rollout", "status", "deployment/web")
    history = web("rollout", "history", "deployment/web")
    assert history.splitlines()[2].split()[0] == "1"
    web("rollout", "undo", "deployment/web")
    image = "jsonpath={.spec.template.spec.containers[0].image}"
    assert web("get", *WEB, "-o", image) == "web:1"
    web("rollout", "pause", "deployment/web")
    web("rollout", "resume", "deployment/web")
    web("rollout", "restart", "deployment/web")


def test_drain_and_cordon(kubectl: Kubectl) -> None:
    node = f"{kubectl.namespace}-node"
    kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}))
    try:
        kubectl("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [{"name": "a", "image": "b"}]},
        }))  # fmt: skip
        kubectl("cordon", node)
        assert "SchedulingDisabled" in kubectl("get", "node", node)
        kubectl("taint", "node", node, "a=b:NoSchedule")
        kubectl("drain", node, "--force", "--timeout=25s")
        assert gone(kubectl, "pod", "p")
        kubectl("uncordon", node)
    finally:
        kubectl("delete", "node", node)
