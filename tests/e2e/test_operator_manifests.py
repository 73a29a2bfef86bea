# SPDX-License-Identifier: Apache-2.0
"""Manifests of other training operators, as published: applying one changes nothing that the cluster relies on.

They are fetched from the Go module registry, as the oracle is.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.e2e.jobs import mpijob, submitted
from tests.programs import clusters as embedded
from tests.programs.world import Cluster

from springtide.api.mirror_pods import is_mirror

pytestmark = pytest.mark.timeout(300)

CRD = "mpijobs.kubeflow.org"
OLD = 'no matches for kind "CustomResourceDefinition" in version "apiextensions.k8s.io/v1beta1"'
KEPT = f"Warning: {CRD} is built into this cluster and stays as it is"


@dataclass(frozen=True)
class Manifest:
    module: str
    path: str
    namespace: str
    deployment: str
    how: str = "-f"
    server_side: bool = True
    complains: str = ""
    """What kubectl has to say although all else is applied."""
    warns: str = ""

    @property
    def file(self) -> str:
        command = ["go", "mod", "download", "-json", f"github.com/kubeflow/{self.module}"]
        found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        return str(Path(found["Dir"]) / self.path)


MPI_V1 = Manifest("mpi-operator@v0.2.3", "deploy/v1/mpi-operator.yaml", "mpi-operator", "mpi-operator", complains=OLD)
MPI_V2 = Manifest("mpi-operator@v0.8.2", "deploy/v2beta1/mpi-operator.yaml", "mpi-operator", "mpi-operator", warns=KEPT)
MANIFESTS = {
    "mpi v1": MPI_V1,
    "mpi v1 plain": replace(MPI_V1, server_side=False),
    "mpi v2beta1 plain": replace(MPI_V2, server_side=False),
    "mpi v1alpha2": Manifest(
        "mpi-operator@v0.2.3", "deploy/v1alpha2/mpi-operator.yaml", "mpi-operator", "mpi-operator", complains=OLD
    ),
    "mpi v2beta1": MPI_V2,
    "tf": Manifest(
        "tf-operator@v1.1.0", "manifests/overlays/standalone", "kubeflow", "tf-job-operator", "-k", complains=OLD
    ),
    "pytorch": Manifest(
        "pytorch-operator@v0.7.0", "manifests/overlays/standalone", "kubeflow", "pytorch-operator", "-k", complains=OLD
    ),
    "training": Manifest(
        "training-operator@v1.8.1", "manifests/overlays/standalone", "kubeflow", "training-operator", "-k", warns=KEPT
    ),
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One of their own: they bring definitions and delete namespaces."""
    with embedded.public_folder() as public, embedded.running(public) as found:
        yield found


def definition(cluster: Cluster) -> object:
    found = cluster.get("crd", CRD)
    return found["metadata"]["uid"], found["metadata"]["generation"], found["spec"]


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_is_applied_and_deleted_and_nothing_breaks(cluster: Cluster, name: str) -> None:
    manifest = MANIFESTS[name]
    job = submitted(cluster, mpijob(f"waits-{name.replace(' ', '-')}", ["true"], runPolicy={"suspend": True}))
    before = definition(cluster)
    there = replace(cluster, kubectl=replace(cluster.kubectl, namespace=manifest.namespace))
    apply(there, manifest)
    there.kubectl("wait", "deployment", manifest.deployment, "--for=condition=Available", "--timeout=25s")
    found = {name: each for name, each in there.pods().items() if not is_mirror(each)}
    (pod,) = [each for each in found if each.startswith(f"{manifest.deployment}-")]
    notice = there.logs(pod).strip()
    assert "this cluster runs " in notice or "does not run" in notice
    events = there.get("events", f"--field-selector=involvedObject.name={pod}")["items"]
    assert [each["message"] for each in events if each["reason"] == "BuiltIn"] == [notice]
    assert there.pods()[pod]["status"]["containerStatuses"][0]["restartCount"] == 0
    assert definition(cluster) == before
    if name == "training":
        create_a_job_of_its_own(there)
    said = there.kubectl.run("delete", manifest.how, manifest.file, "--wait=false", "--ignore-not-found").stderr
    if manifest.warns:
        assert f'"{CRD}" is forbidden: it is built into this cluster and stays' in said
    there.until(lambda: pod not in there.pods(), f"{pod} gone")
    assert definition(cluster) == before
    assert job.object()["metadata"]["name"] == job.name
    cluster.kubectl("delete", "mpijob", job.name)
    until_gone(cluster, manifest.namespace)


def apply(cluster: Cluster, manifest: Manifest) -> None:
    how = ["--server-side"] if manifest.server_side else []
    done = cluster.kubectl.run("apply", *how, manifest.how, manifest.file)
    assert manifest.complains in done.stderr
    assert manifest.warns in done.stderr
    assert (done.returncode == 0) == (not manifest.complains), done
    others = [line for line in done.stderr.splitlines() if line.startswith(("Error", "The "))]
    assert not others, done


def until_gone(cluster: Cluster, namespace: str) -> None:
    """It goes with its manifest; another manifest brings it back."""
    cluster.until(lambda: cluster.kubectl.run("get", "namespace", namespace).returncode, f"{namespace} gone")


def create_a_job_of_its_own(cluster: Cluster) -> None:
    """The training operator's webhook is not called: what stands in for it serves nothing."""
    master = {"replicas": 1, "template": {"spec": {"containers": [{"name": "pytorch", "image": "x"}]}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "p"}}
    job["spec"] = {"pytorchReplicaSpecs": {"Master": master}}
    cluster.until(lambda: cluster.kubectl.run("get", "pytorchjobs").returncode == 0, "PyTorchJobs are known")
    done = cluster.kubectl.run("create", "-f", "-", stdin=json.dumps(job))
    assert done.returncode == 0, done
    assert "is not called: its operator does not run here" in done.stderr
    cluster.kubectl("delete", "pytorchjob", "p")
