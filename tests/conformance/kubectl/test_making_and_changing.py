# SPDX-License-Identifier: Apache-2.0
"""kubectl create, apply, diff, edit, replace, patch, label, annotate, scale and autoscale."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conformance.programs import Kubectl, tool

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "web:1", env: [{name: A, value: "1"}]}]}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {part: a}}\ndata: {key: one}\n"


def got(kubectl: Kubectl, *what: str) -> Any:
    return json.loads(kubectl("get", *what, "-o", "json"))


CREATIONS = {
    "configmap": ("configmap", "x", "--from-literal=a=b"),
    "secret": ("secret", "generic", "x", "--from-literal=a=b"),
    "secret-docker": (
        "secret", "docker-registry", "x", "--docker-server=s", "--docker-username=u", "--docker-password=p",
    ),
    "serviceaccount": ("serviceaccount", "x"),
    "role": ("role", "x", "--verb=get,list", "--resource=pods,deployments.apps"),
    "rolebinding": ("rolebinding", "x", "--clusterrole=view", "--user=jane"),
    "quota": ("quota", "x", "--hard=pods=5,requests.cpu=2"),
    "pdb": ("poddisruptionbudget", "x", "--selector=a=b", "--min-available=1"),
    "job": ("job", "x", "--image=busybox", "--", "true"),
    "deployment": ("deployment", "x", "--image=busybox", "--replicas=2"),
    "service": ("service", "clusterip", "x", "--tcp=80:8080"),
    "service-nodeport": ("service", "nodeport", "x", "--tcp=80"),
    "service-externalname": ("service", "externalname", "x", "--external-name=example.com"),
}  # fmt: skip


@pytest.mark.parametrize("what", CREATIONS)
def test_create(kubectl: Kubectl, what: str) -> None:
    out = kubectl("create", *CREATIONS[what])
    assert out.endswith("/x created\n")
    assert "already exists" in kubectl.refused("create", *CREATIONS[what])


CLUSTER_CREATIONS = {
    "clusterrole": ("--verb=get", "--resource=nodes"),
    "clusterrolebinding": ("--clusterrole=view", "--group=devs"),
    "priorityclass": ("--value=5",),
    "namespace": (),
}


@pytest.mark.parametrize("what", CLUSTER_CREATIONS)
def test_create_for_the_whole_cluster(kubectl: Kubectl, what: str) -> None:
    name = f"{kubectl.namespace}-x"
    assert "created" in kubectl("create", what, name, *CLUSTER_CREATIONS[what])
    assert "deleted" in kubectl("delete", what, name, "--wait=false")


def test_create_without_doing_it(kubectl: Kubectl) -> None:
    made = yaml.safe_load(kubectl("create", "configmap", "x", "--dry-run=server", "-o", "yaml"))
    assert made["metadata"]["uid"]
    assert "not found" in kubectl.refused("get", "configmap", "x")


def test_create_refuses_what_is_wrong(kubectl: Kubectl) -> None:
    wrong = DEPLOYMENT.replace("image", "imgae")
    assert 'unknown field "spec.template.spec.containers[0].imgae"' in kubectl.refused("create", "-f", "-", stdin=wrong)
    no_image = DEPLOYMENT.replace('image: "web:1", ', "")
    assert "spec.template.spec.containers[0].image: Required value" in kubectl.refused(
        "create", "-f", "-", stdin=no_image
    )


def test_run_makes_a_pod(kubectl: Kubectl) -> None:
    assert kubectl("run", "p", "--image=busybox", "--", "sleep", "1") == "pod/p created\n"
    assert got(kubectl, "pod", "p")["spec"]["containers"][0]["args"] == ["sleep", "1"]


@pytest.mark.parametrize("mode", [(), ("--server-side",)], ids=["client-side", "server-side"])
def test_apply_makes_changes_and_leaves(kubectl: Kubectl, mode: tuple[str, ...]) -> None:
    again = {(): "unchanged", ("--server-side",): "serverside-applied"}[mode]
    kubectl("apply", *mode, "-f", "-", stdin=DEPLOYMENT)
    assert again in kubectl("apply", *mode, "-f", "-", stdin=DEPLOYMENT)
    changed = DEPLOYMENT.replace("web:1", "web:2").replace('[{name: A, value: "1"}]', "[]")
    kubectl("apply", *mode, "-f", "-", stdin=changed)
    container = got(kubectl, "deployment", "web")["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "web:2"
    assert "env" not in container


def test_apply_moves_from_the_client_to_the_server(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=CONFIG)
    kubectl("apply", "--server-side", "-f", "-", stdin=CONFIG.replace("one", "two"))
    entries = got(kubectl, "configmap", "c", "--show-managed-fields")["metadata"]["managedFields"]
    assert "kubectl" in [entry["manager"] for entry in entries]
    assert got(kubectl, "configmap", "c")["data"] == {"key": "two"}


def test_server_side_apply_reports_conflicts_and_can_be_forced(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "-f", "-", stdin=CONFIG)
    kubectl("patch", "configmap", "c", "--type=merge", "-p", '{"data":{"key":"other"}}', "--field-manager=editor")
    words = ("apply", "--server-side", "-f", "-")
    assert 'conflict with "editor" using v1: .data.key' in kubectl.refused(*words, stdin=CONFIG)
    kubectl(*words, "--force-conflicts", stdin=CONFIG)
    assert got(kubectl, "configmap", "c")["data"] == {"key": "one"}


def test_apply_prunes_what_was_left_out(kubectl: Kubectl) -> None:
    second = CONFIG.replace("name: c", "name: d")
    words = ("apply", "--prune", "-l", "part=a", "--prune-allowlist=core/v1/ConfigMap", "-f", "-")
    kubectl(*words, stdin=CONFIG + "---\n" + second)
    assert "configmap/d pruned" in kubectl(*words, stdin=CONFIG)
    assert "not found" in kubectl.refused("get", "configmap", "d")


def test_apply_a_kustomization(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG)
    kustomization = {
        "resources": ["config.yaml"],
        "namePrefix": "pre-",
        "labels": [{"pairs": {"from": "kustomize"}}],
        "configMapGenerator": [{"name": "made", "literals": ["a=b"]}],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    out = kubectl("apply", "-k", str(tmp_path))
    assert "configmap/pre-c created" in out
    assert len(kubectl("get", "configmap", "-l", "from=kustomize", "-o", "name").split()) == 2
    kubectl("delete", "-k", str(tmp_path))


def test_diff_shows_what_apply_would_do(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=CONFIG)
    assert kubectl("diff", "-f", "-", stdin=CONFIG) == ""
    shown = kubectl.run("diff", "-f", "-", stdin=CONFIG.replace("one", "two"))
    assert shown.returncode == 1
    assert "-  key: one" in shown.stdout
    assert "+  key: two" in shown.stdout
    shown = kubectl.run("diff", "--server-side", "-f", "-", stdin=CONFIG.replace("name: c", "name: new"))
    assert shown.returncode == 1
    assert "+  name: new" in shown.stdout


def test_edit(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=CONFIG)
    out = kubectl("edit", "configmap", "c", EDITOR="sed -i s/one/edited/", KUBE_EDITOR="")
    assert out == "configmap/c edited\n"
    assert got(kubectl, "configmap", "c")["data"] == {"key": "edited"}


def test_replace(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=CONFIG)
    assert "replaced" in kubectl("replace", "-f", "-", stdin=CONFIG.replace("one", "two"))
    uid = got(kubectl, "configmap", "c")["metadata"]["uid"]
    kubectl("replace", "--force", "-f", "-", stdin=CONFIG)
    assert got(kubectl, "configmap", "c")["metadata"]["uid"] != uid


PATCHES = {
    "strategic": '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:9"}]}}}}',
    "merge": '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:9"}]}}}}',
    "json": '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"web:9"}]',
}


@pytest.mark.parametrize("kind", PATCHES)
def test_patch(kubectl: Kubectl, kind: str) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    kubectl("patch", "deployment", "web", f"--type={kind}", "-p", PATCHES[kind])
    container = got(kubectl, "deployment", "web")["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "web:9"
    assert ("env" in container) == (kind != "merge")
    assert "no change" in kubectl("patch", "deployment", "web", f"--type={kind}", "-p", PATCHES[kind])


def test_patch_of_a_subresource(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    kubectl("patch", "deployment", "web", "--subresource=scale", "--type=merge", "-p", '{"spec":{"replicas":3}}')
    assert got(kubectl, "deployment", "web")["spec"]["replicas"] == 3


def test_label_and_annotate(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=CONFIG)
    kubectl("label", "configmap", "c", "tier=front")
    assert "--overwrite" in kubectl.refused("label", "configmap", "c", "tier=back")
    kubectl("label", "configmap", "c", "tier=back", "--overwrite")
    kubectl("label", "configmap", "c", "part-")
    kubectl("annotate", "configmap", "--all", "note=hello world")
    metadata = got(kubectl, "configmap", "c")["metadata"]
    assert metadata["labels"] == {"tier": "back"}
    assert metadata["annotations"]["note"] == "hello world"


def test_set(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    kubectl("set", "image", "deployment/web", "main=web:5")
    kubectl("set", "env", "deployment/web", "B=2")
    kubectl("set", "resources", "deployment/web", "--limits=cpu=1")
    container = got(kubectl, "deployment", "web")["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "web:5"
    assert {"name": "B", "value": "2"} in container["env"]
    assert container["resources"] == {"limits": {"cpu": "1"}}


def test_scale(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT.replace("replicas: 1", "replicas: 0"))
    kubectl("scale", "deployment/web", "--replicas=2")
    refusal = kubectl.refused("scale", "deployment/web", "--current-replicas=7", "--replicas=1")
    assert "Expected replicas to be 7" in refusal
    kubectl("scale", "deployment/web", "--current-replicas=2", "--replicas=0")
    assert got(kubectl, "deployment", "web")["spec"]["replicas"] == 0


def test_autoscale(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    kubectl("autoscale", "deployment", "web", "--min=1", "--max=3", "--cpu-percent=80")
    scaler = got(kubectl, "hpa", "web")
    assert (scaler["apiVersion"], scaler["spec"]["maxReplicas"]) == ("autoscaling/v2", 3)
    assert "Deployment/web" in kubectl("get", "hpa", "web")


def test_both_kubectls_agree_on_protobuf(kubectl: Kubectl) -> None:
    """They send some bodies in protobuf and do not fall back to JSON."""
    assert kubectl.program == tool(Path(kubectl.program).name)
    kubectl("create", "token", "default")
    kubectl("create", "serviceaccount", "robot")
    kubectl("create", "rolebinding", "robot", "--clusterrole=view", f"--serviceaccount={kubectl.namespace}:robot")
    who = f"system:serviceaccount:{kubectl.namespace}:robot"
    assert kubectl("auth", "can-i", "list", "pods", f"--as={who}") == "yes\n"
