# SPDX-License-Identifier: Apache-2.0
"""kubectl get in all its forms, describe, explain, api-resources, events, auth and the like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from tests.conformance.programs import Kubectl

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, labels: {{app: {app}}}}}
spec: {{containers: [{{name: main, image: "{image}"}}]}}
"""


@pytest.fixture
def pods(kubectl: Kubectl) -> Kubectl:
    made = [("b", "web", "z:1"), ("a", "web", "y:1"), ("c", "db", "x:1")]
    text = "---\n".join(POD.format(name=name, app=app, image=image) for name, app, image in made)
    kubectl("create", "-f", "-", stdin=text)
    return kubectl


def test_get_prints_a_table(pods: Kubectl) -> None:
    head, *rows = pods("get", "pods").splitlines()
    assert head.split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [row.split()[:3] for row in rows] == [[name, "0/1", "Pending"] for name in "abc"]


def test_get_wide_prints_more(pods: Kubectl) -> None:
    head = pods("get", "pods", "-o", "wide").splitlines()[0]
    assert head.split()[5:8] == ["IP", "NODE", "NOMINATED"]


def test_get_in_many_forms(pods: Kubectl) -> None:
    assert pods("get", "pods", "-o", "name").split() == ["pod/a", "pod/b", "pod/c"]
    listed = json.loads(pods("get", "pods", "-o", "json"))["items"]
    assert [item["metadata"]["name"] for item in listed] == ["a", "b", "c"]
    assert yaml.safe_load(pods("get", "pod", "a", "-o", "yaml"))["spec"]["containers"][0]["image"] == "y:1"
    assert pods("get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}") == "y:1 z:1 x:1"
    columns = pods("get", "pods", "-o", "custom-columns=N:.metadata.name,I:.spec.containers[*].image")
    assert [line.split() for line in columns.splitlines()] == [["N", "I"], ["a", "y:1"], ["b", "z:1"], ["c", "x:1"]]
    assert pods("get", "pods", "-o", "go-template={{len .items}}") == "3"


def test_get_chooses(pods: Kubectl) -> None:
    assert pods("get", "pods", "-l", "app=web", "-o", "name").split() == ["pod/a", "pod/b"]
    assert pods("get", "pods", "-l", "app notin (web)", "-o", "name").split() == ["pod/c"]
    assert pods("get", "pods", "--field-selector=metadata.name=c", "-o", "name").split() == ["pod/c"]
    assert pods("get", "pods", "--field-selector=status.phase!=Pending", "-o", "name") == ""
    assert "No resources found" in pods.run("get", "pods", "-l", "app=none").stderr
    assert "field label not supported" in pods.refused("get", "pods", "--field-selector=spec.image=x")


def test_get_sorts_and_shows_labels(pods: Kubectl) -> None:
    by_image = pods("get", "pods", "--sort-by=.spec.containers[0].image", "-o", "name").split()
    assert by_image == ["pod/c", "pod/a", "pod/b"]
    assert "app=web" in pods("get", "pods", "--show-labels")
    assert pods("get", "pods", "-L", "app").splitlines()[0].split()[-1] == "APP"


def test_get_in_chunks(pods: Kubectl) -> None:
    for size in ("1", "2", "500"):
        assert len(pods("get", "pods", f"--chunk-size={size}", "--no-headers").splitlines()) == 3


def test_get_everywhere(pods: Kubectl) -> None:
    rows = pods("get", "pods", "-A", "--no-headers").splitlines()
    assert sum(row.startswith(pods.namespace + " ") for row in rows) == 3


def test_get_all_and_several_kinds(pods: Kubectl) -> None:
    pods("create", "service", "clusterip", "s", "--tcp=80")
    assert "service/s" in pods("get", "all")
    shown = pods("get", "pods,services", "-o", "name").split()
    assert shown == ["pod/a", "pod/b", "pod/c", "service/s"]
    assert pods("get", "pod/a", "service/s", "-o", "name").split() == ["pod/a", "service/s"]


def test_get_raw(kubectl: Kubectl) -> None:
    assert kubectl("get", "--raw", "/readyz") == "ok"
    assert json.loads(kubectl("get", "--raw", "/version"))["major"] == "1"


def test_get_what_is_not_there(kubectl: Kubectl) -> None:
    assert 'pods "zzz" not found' in kubectl.refused("get", "pod", "zzz")
    assert "the server doesn't have a resource type" in kubectl.refused("get", "daemonsets")
    assert "the server doesn't have a resource type" in kubectl.refused("get", "wursts")


def test_watch_shows_changes_as_they_happen(pods: Kubectl) -> None:
    process = pods.start("get", "pods", "-w", "-o", "name")
    assert process.stdout is not None
    try:
        assert [process.stdout.readline().strip() for _ in range(3)] == ["pod/a", "pod/b", "pod/c"]
        pods("label", "pod", "b", "changed=yes")
        assert process.stdout.readline().strip() == "pod/b"
        pods("create", "-f", "-", stdin=POD.format(name="d", app="x", image="i"))
        assert process.stdout.readline().strip() == "pod/d"
    finally:
        process.kill()
        process.communicate()


def test_describe(pods: Kubectl) -> None:
    shown = pods("describe", "pod", "a")
    assert "Image:        y:1" in shown
    assert "Priority:         0" in shown
    assert "kube-api-access" in shown
    assert f"Name:         {pods.namespace}" in pods("describe", "namespace", pods.namespace)


@pytest.mark.parametrize(
    "kind", ["configmap", "secret", "serviceaccount", "service", "deployment", "job", "role", "resourcequota"]
)
def test_describe_any_kind(kubectl: Kubectl, kind: str) -> None:
    words = {
        "configmap": ("configmap", "x", "--from-literal=a=b"),
        "secret": ("secret", "generic", "x", "--from-literal=a=b"),
        "serviceaccount": ("serviceaccount", "x"),
        "service": ("service", "clusterip", "x", "--tcp=80"),
        "deployment": ("deployment", "x", "--image=i"),
        "job": ("job", "x", "--image=i"),
        "role": ("role", "x", "--verb=get", "--resource=pods"),
        "resourcequota": ("quota", "x", "--hard=pods=2"),
    }
    kubectl("create", *words[kind])
    assert "x" in kubectl("describe", kind, "x").splitlines()[0]


def test_explain(kubectl: Kubectl) -> None:
    shown = kubectl("explain", "pods.spec.containers.livenessProbe")
    assert "Periodic probe of container liveness" in shown
    assert "failureThreshold" in shown
    assert "maxSurge" in kubectl("explain", "deployment.spec", "--recursive")
    assert "does not exist" in kubectl.refused("explain", "pods.spec.wurst")


def test_explain_of_a_custom_resource(kubectl: Kubectl) -> None:
    group = f"{kubectl.namespace}.example.com"
    size = {"type": "integer", "description": "How big."}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": size}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "boxes", "kind": "Box", "singular": "box", "shortNames": ["bx"]}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"boxes.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    kubectl("create", "-f", "-", stdin=json.dumps(crd))
    kubectl("wait", "--for=condition=Established", f"crd/boxes.{group}", "--timeout=10s")
    assert "How big." in kubectl("explain", "boxes.spec", f"--api-version={group}/v1")
    box = {"apiVersion": f"{group}/v1", "kind": "Box", "metadata": {"name": "b"}, "spec": {"size": 3}}
    wrong = json.dumps(box | {"spec": {"wurst": 1}})
    assert 'unknown field "spec.wurst"' in kubectl.refused("create", "-f", "-", stdin=wrong)
    kubectl("apply", "-f", "-", stdin=json.dumps(box))
    assert kubectl("get", f"bx.{group}", "-o", "name") == f"box.{group}/b\n"
    kubectl("delete", "crd", f"boxes.{group}")


def test_api_resources_and_versions(kubectl: Kubectl) -> None:
    rows = {line.split()[0]: line.split() for line in kubectl("api-resources").splitlines()[1:]}
    assert rows["deployments"][1:] == ["deploy", "apps/v1", "true", "Deployment"]
    assert "daemonsets" not in rows
    named = kubectl("api-resources", "--api-group=rbac.authorization.k8s.io", "-o", "name").split()
    assert len(named) == 4
    assert "autoscaling/v2" in kubectl("api-versions").split()


def test_version_and_cluster_info(kubectl: Kubectl) -> None:
    assert "Server Version: v1.36.3" in kubectl("version")
    assert "is running at" in kubectl("cluster-info")


def test_events(kubectl: Kubectl) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": kubectl.namespace},
        "reason": "Tested",
        "message": "it works",
        "type": "Normal",
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    kubectl("create", "-f", "-", stdin=json.dumps(event))
    assert "it works" in kubectl("events", "--for=pod/p")
    assert "Tested" in kubectl("get", "events")


def test_auth(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert kubectl.run("auth", "can-i", "create", "pods", "--as=jane").stdout == "no\n"
    assert "*.*" in kubectl("auth", "can-i", "--list")
    who = kubectl("auth", "whoami")
    assert "system:masters" in who
    assert 'pods is forbidden: User "jane"' in kubectl.refused("get", "pods", "--as=jane")


def test_auth_reconcile(kubectl: Kubectl, tmp_path: Path) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r", "namespace": kubectl.namespace},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    path = tmp_path / "role.json"
    path.write_text(json.dumps(role))
    assert "reconciled" in kubectl("auth", "reconcile", "-f", str(path))
    assert "reconciled" in kubectl("auth", "reconcile", "-f", str(path))


def test_create_token(kubectl: Kubectl) -> None:
    token = kubectl("create", "token", "default", "--duration=1h").strip()
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    answer = kubectl("create", "-o", "json", "-f", "-", stdin=json.dumps(review))
    judged = json.loads(answer)["status"]
    assert judged["user"]["username"] == f"system:serviceaccount:{kubectl.namespace}:default"
