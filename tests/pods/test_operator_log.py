# SPDX-License-Identifier: Apache-2.0
"""The operator's log by the commands of documents: its process is a mirror pod."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from tests.pods.clusters import Cluster
from tests.pods.spaces import Space

from springtide.kube.resources import PODS, Key

pytestmark = [pytest.mark.usefixtures("embedded"), pytest.mark.any_user]

DOCUMENT = (
    "kubectl -n kubeflow logs "
    "`kubectl get pods -n kubeflow --selector=name=tf-job-operator -o jsonpath='{.items[0].metadata.name}'`"
)
BEGINNING = "Serving the validating webhook on port"
"""Of a line that every operator of an embedded cluster writes when it starts."""
PODS_BY_LABEL = (
    ("kubeflow", "name=tf-job-operator"),
    ("kubeflow", "name=pytorch-operator"),
    ("mpi-operator", "app=mpi-operator"),
)


def in_shell(space: Space, command: str) -> str:
    path = f"{Path(space.kubectl.program).parent}{os.pathsep}{os.environ['PATH']}"
    environment = space.kubectl.environment | {"PATH": path}
    return subprocess.run(["sh", "-euc", command], env=environment, capture_output=True, text=True, check=True).stdout


def name_of(space: Space, namespace: str = "kubeflow", label: str = "name=tf-job-operator") -> str:
    return space.kubectl("get", "pods", f"--namespace={namespace}", f"--selector={label}", "-o", "name").strip()


async def begun(space: Space) -> None:
    """Once the operator has written its first line."""

    async def log() -> str:
        return in_shell(space, DOCUMENT)

    await space.eventually(log, lambda text: BEGINNING in text)


async def test_the_document_s_command_prints_the_operator_s_log(space: Space, embedded: Cluster) -> None:
    await begun(space)
    assert embedded.place is not None
    assert in_shell(space, DOCUMENT) == embedded.place.operator_log.read_text()


async def test_every_operator_s_name_leads_to_the_same_log(space: Space) -> None:
    await begun(space)
    for namespace, label in PODS_BY_LABEL:
        assert BEGINNING in space.kubectl("logs", f"--namespace={namespace}", f"--selector={label}")


async def test_options_choose_from_the_log(space: Space) -> None:
    await begun(space)
    pod = name_of(space)
    (last,) = space.kubectl("logs", "-n=kubeflow", pod, "--tail=1").splitlines()
    assert space.kubectl("logs", "-n=kubeflow", pod).splitlines()[-1] == last
    stamp, _, rest = space.kubectl("logs", "-n=kubeflow", pod, "--tail=1", "--timestamps").rstrip().partition(" ")
    assert (rest, stamp[10], stamp[-1]) == (last, "T", "Z")
    assert space.kubectl("logs", "-n=kubeflow", pod, "--since-time=2100-01-01T00:00:00Z") == ""
    with space.kubectl.start("logs", "-n=kubeflow", pod, "--follow") as following:
        await asyncio.sleep(1)
        assert following.poll() is None
        following.terminate()
        assert BEGINNING in following.communicate(timeout=10)[0]


async def test_it_is_a_pod_that_runs(space: Space) -> None:
    await begun(space)
    pod = name_of(space).removeprefix("pod/")
    seen = await space.client.get(PODS, Key("kubeflow", pod))
    assert seen["status"]["phase"] == "Running"
    assert seen["metadata"]["ownerReferences"][0]["kind"] == "Node"
    assert seen["spec"]["nodeName"] == "one"

    async def top() -> str:
        return space.kubectl.run("top", "pod", "-n=kubeflow", pod, "--no-headers").stdout

    assert (await space.eventually(top, bool, patience=60)).split()[2].endswith("Mi")


async def test_commands_cannot_be_run_in_it(space: Space) -> None:
    refused = space.kubectl.refused("exec", "-n=kubeflow", name_of(space), "--", "true")
    assert "is a mirror pod, whose process runs outside of pods" in refused
    forwarded = space.kubectl.refused("port-forward", "-n=kubeflow", name_of(space), "0:8080")
    assert "so exec, attach, cp and port-forward cannot reach it; kubectl logs and kubectl top pod can" in forwarded


async def test_it_comes_back_when_it_is_deleted_and_a_drain_skips_it(space: Space) -> None:
    pod = name_of(space)
    before = space.kubectl("get", "-n=kubeflow", pod, "-o", "jsonpath={.metadata.uid}")
    space.kubectl("delete", "-n=kubeflow", pod, "--timeout=20s")

    async def uid() -> str:
        return space.kubectl.run("get", "-n=kubeflow", pod, "-o", "jsonpath={.metadata.uid}").stdout

    again = await space.eventually(uid, bool)
    assert again != before
    try:
        space.kubectl("drain", "one", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=30s")
        assert await uid() == again
    finally:
        space.kubectl("uncordon", "one")


async def test_its_mark_is_set_once_and_for_pods_with_a_node(space: Space) -> None:
    change = ("annotate", "-n=kubeflow", "--overwrite", name_of(space))
    refused = space.kubectl.refused(*change, "kubernetes.io/config.mirror=other")
    assert "may not remove or update mirror pod annotation" in refused
    assert "may not remove or update" in space.kubectl.refused(*change, "kubernetes.io/config.mirror-")
    alone = ("run", "alone", "--image=x", "--restart=Never", "--annotations=kubernetes.io/config.mirror=x")
    overrides = '--overrides={"spec": {"automountServiceAccountToken": false}}'
    assert "spec.nodeName" in space.kubectl.refused(*alone, overrides)
