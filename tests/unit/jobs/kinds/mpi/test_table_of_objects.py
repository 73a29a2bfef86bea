# SPDX-License-Identifier: Apache-2.0
"""Every object of an MPIJob, row by row: what it is called and what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from tests import documents
from tests.unit.api.builders import a_template, an_mpijob
from tests.unit.jobs.builders import running
from tests.unit.jobs.simulated import Cluster

from springtide.api.validation.mpijob import admission_errors
from springtide.jobs.observed import Settings

GPU: Final = a_template("mpirun", resources={"limits": {"nvidia.com/gpu": 1}})
HOST_NETWORK: Final = {"spec": {**a_template("mpirun")["spec"], "hostNetwork": True}}


def made(version: str, settings: Settings = Settings(), **spec: Any) -> dict[str, dict[str, Any]]:  # noqa: B008
    """Everything there is, by kind and name; a launcher Job's pod as `Pod pi-launcher`."""
    cluster = Cluster(an_mpijob(version, **spec), settings)
    cluster.settle()
    found = {f"{key.kind} {key.name}": body for key, body in cluster.objects.items()}
    for name, manifest in cluster.manifests.items():
        found[f"{manifest['kind']} {name}"] = dict(manifest)
        if manifest["kind"] == "Job":
            found[f"Pod {name}"] = manifest["spec"]["template"]
    return found


def at(body: Any, path: str) -> Any:
    """What stands at `spec/containers/0`; in a list of named things also at `spec/volumes/config`. A slash in a name is
    written as a tilde. None where there is nothing."""
    for step in path.split("/"):
        if isinstance(body, list):
            found = (each for place, each in enumerate(body) if step in (str(place), each.get("name")))
            body = next(found, None)
        else:
            body = body.get(step.replace("~", "/"))
    return body


VOLCANO: Final = Settings(gang_scheduler="volcano")
PLUGINS: Final = Settings(gang_scheduler="plugins")
KUBECTL: Final = Settings(kubectl_image="kubectl:1")
DOMAIN: Final = Settings(cluster_domain="example.org")
FIRST: Final = "spec/containers/0"
PREFIX: Final = "training.kubeflow.org"
Row = tuple[str, Settings, dict[str, Any], str, str, Any]

V1: Final[dict[str, Row]] = {
    "the ConfigMap has upstream's files": (
        *("v1", Settings(), {}, "ConfigMap pi-config", "data/hostfile"),
        "pi-worker-0 slots=1\npi-worker-1 slots=1\n",
    ),
    "the ConfigMap has upstream's label": ("v1", Settings(), {}, "ConfigMap pi-config", "metadata/labels/app", "pi"),
    "the account is empty": ("v1", Settings(), {}, "ServiceAccount pi-launcher", "rules", None),
    "the account has upstream's label": (
        "v1",
        Settings(),
        {},
        "ServiceAccount pi-launcher",
        "metadata/labels/app",
        "pi",
    ),
    "the Role lets pods be seen": (
        *("v1", Settings(), {}, "Role pi-launcher", "rules/0"),
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
    ),
    "the Role reaches the job's workers": (
        *("v1", Settings(), {}, "Role pi-launcher", "rules/1/resourceNames"),
        ["pi-worker-0", "pi-worker-1"],
    ),
    "the RoleBinding binds account and Role": (
        *("v1", Settings(), {}, "RoleBinding pi-launcher", "roleRef"),
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "pi-launcher"},
    ),
    "the PodGroup has the job's name and counts the launcher": ("v1", VOLCANO, {}, "PodGroup pi", "spec/minMember", 3),
    "a worker sleeps": ("v1", Settings(), {}, "Pod pi-worker-0", f"{FIRST}/command", ["sleep"]),
    "a worker's arguments alone are kept": (
        *("v1", Settings(), {"worker": {"template": a_template(args=["x"])}}, "Pod pi-worker-0", f"{FIRST}/args"),
        ["x"],
    ),
    "a worker mounts the agent": (
        *("v1", Settings(), {}, "Pod pi-worker-0", f"{FIRST}/volumeMounts/mpi-job-config/mountPath"),
        "/etc/mpi",
    ),
    "a worker has no variables of ours": ("v1", Settings(), {}, "Pod pi-worker-0", f"{FIRST}/env", None),
    "a worker of a gang is placed by its scheduler": (
        "v1",
        VOLCANO,
        {},
        "Pod pi-worker-0",
        "spec/schedulerName",
        "volcano",
    ),
    "a worker of a gang names its group": (
        *("v1", VOLCANO, {}, "Pod pi-worker-0", "metadata/annotations/scheduling.k8s.io~group-name"),
        "pi",
    ),
    "a worker's hyphenated role": ("v1", Settings(), {}, "Pod pi-worker-1", "metadata/labels/mpi-job-role", "worker"),
    "a worker's index": ("v1", Settings(), {}, "Pod pi-worker-1", "metadata/labels/replica-index", "1"),
    "a worker's role for Arena": ("v1", Settings(), {}, "Pod pi-worker-1", "metadata/labels/mpi_role_type", "worker"),
    "a worker's role for training-operator": (
        *("v1", Settings(), {}, "Pod pi-worker-1", f"metadata/labels/{PREFIX}~replica-type"),
        "worker",
    ),
    "the launcher leads for training-operator": (
        *("v1", Settings(), {}, "Pod pi-launcher", f"metadata/labels/{PREFIX}~job-role"),
        "master",
    ),
    "the launcher's account": ("v1", Settings(), {}, "Pod pi-launcher", "spec/serviceAccountName", "pi-launcher"),
    "the launcher waits for hosts in its own image": (
        *("v1", Settings(), {}, "Pod pi-launcher", "spec/initContainers/wait-for-hosts/image"),
        "pi",
    ),
    "kubectl is delivered where an image brings it": (
        *("v1", KUBECTL, {}, "Pod pi-launcher", "spec/initContainers/kubectl-delivery/resources/limits"),
        {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"},
    ),
    "kubectl is delivered to its old place": (
        *("v1", KUBECTL, {}, "Pod pi-launcher", f"{FIRST}/volumeMounts/mpi-job-kubectl/mountPath"),
        "/opt/kube",
    ),
    "a launcher with a GPU is a host": (
        *("v1", Settings(), {"launcher": {"template": GPU}}, "ConfigMap pi-config", "data/hostfile"),
        "pi-launcher slots=1\npi-worker-0 slots=1\npi-worker-1 slots=1\n",
    ),
    "a launcher is tried again by the operator": (
        "v1",
        Settings(),
        {},
        "Pod pi-launcher",
        "spec/restartPolicy",
        "Never",
    ),
}

SSH: Final = "spec/volumes/ssh-auth/secret"
V2BETA1: Final[dict[str, Row]] = {
    "the Service is headless": ("v2beta1", Settings(), {}, "Service pi", "spec/clusterIP", "None"),
    "the Service selects launcher and workers": (
        *("v2beta1", Settings(), {}, "Service pi", "spec/selector"),
        {f"{PREFIX}/operator-name": "mpi-operator", f"{PREFIX}/job-name": "pi"},
    ),
    "the Service names pods before they are ready": (
        *("v2beta1", Settings(), {}, "Service pi", "spec/publishNotReadyAddresses"),
        True,
    ),
    "the Service has upstream's label": ("v2beta1", Settings(), {}, "Service pi", "metadata/labels/app", "pi"),
    "the Secret has SSH's type": ("v2beta1", Settings(), {}, "Secret pi-ssh", "type", "kubernetes.io/ssh-auth"),
    "the Secret has upstream's label": ("v2beta1", Settings(), {}, "Secret pi-ssh", "metadata/labels/app", "pi"),
    "the hostfile of Open MPI": (
        *("v2beta1", Settings(), {"slotsPerWorker": 2, "workers": 1}, "ConfigMap pi-config", "data/hostfile"),
        "pi-worker-0.pi.ns.svc slots=2\n",
    ),
    "the hostfile of Intel MPI": (
        *("v2beta1", Settings(), {"mpiImplementation": "Intel", "workers": 1}, "ConfigMap pi-config", "data/hostfile"),
        "pi-worker-0.pi.ns.svc:1\n",
    ),
    "the hostfile of MPICH in a cluster with a domain": (
        *("v2beta1", DOMAIN, {"mpiImplementation": "MPICH", "workers": 1}, "ConfigMap pi-config", "data/hostfile"),
        "pi-worker-0.pi.ns.svc.example.org:1\n",
    ),
    "a launcher that is a worker comes first": (
        *("v2beta1", Settings(), {"runLauncherAsWorker": True, "workers": 1}, "ConfigMap pi-config", "data/hostfile"),
        "pi-launcher.pi.ns.svc slots=1\npi-worker-0.pi.ns.svc slots=1\n",
    ),
    "there is no agent": ("v2beta1", Settings(), {}, "ConfigMap pi-config", "data/kubexec.sh", None),
    "a worker runs sshd": (
        *("v2beta1", Settings(), {}, "Pod pi-worker-0", f"{FIRST}/command"),
        ["/usr/sbin/sshd", "-De"],
    ),
    "a worker's host name": ("v2beta1", Settings(), {}, "Pod pi-worker-0", "spec/hostname", "pi-worker-0"),
    "a worker's domain": ("v2beta1", Settings(), {}, "Pod pi-worker-0", "spec/subdomain", "pi"),
    "a worker finds the others by their bare names": (
        *("v2beta1", DOMAIN, {}, "Pod pi-worker-0", "spec/dnsConfig/searches"),
        ["pi.ns.svc.example.org"],
    ),
    "a worker on the host's network keeps the cluster's names": (
        *("v2beta1", Settings(), {"worker": {"template": HOST_NETWORK}}, "Pod pi-worker-0", "spec/dnsPolicy"),
        "ClusterFirstWithHostNet",
    ),
    "a worker's role": ("v2beta1", Settings(), {}, "Pod pi-worker-0", f"metadata/labels/{PREFIX}~job-role", "worker"),
    "a worker's index": ("v2beta1", Settings(), {}, "Pod pi-worker-1", f"metadata/labels/{PREFIX}~replica-index", "1"),
    "a worker's index beside a launcher that is one": (
        *("v2beta1", Settings(), {"runLauncherAsWorker": True}, "Pod pi-worker-1"),
        *(f"metadata/labels/{PREFIX}~replica-index", "2"),
    ),
    "the index of a launcher that is a worker": (
        *("v2beta1", Settings(), {"runLauncherAsWorker": True}, "Pod pi-launcher"),
        *(f"metadata/labels/{PREFIX}~replica-index", "0"),
    ),
    "a worker says what it is": (
        *("v2beta1", Settings(), {}, "Pod pi-worker-0", f"{FIRST}/env/K_MPI_JOB_ROLE/value"),
        "worker",
    ),
    "a worker has no host list": ("v2beta1", Settings(), {}, "Pod pi-worker-0", f"{FIRST}/volumeMounts/1", None),
    "keys come from the Secret": ("v2beta1", Settings(), {}, "Pod pi-worker-0", f"{SSH}/secretName", "pi-ssh"),
    "keys are root's alone": ("v2beta1", Settings(), {}, "Pod pi-launcher", f"{SSH}/defaultMode", 0o600),
    "keys elsewhere have Kubernetes' own mode": (
        *("v2beta1", Settings(), {"sshAuthMountPath": "/home/me/.ssh"}, "Pod pi-launcher", f"{SSH}/defaultMode"),
        None,
    ),
    "the launcher Job has upstream's label": (
        "v2beta1",
        Settings(),
        {},
        "Job pi-launcher",
        "metadata/labels/app",
        "pi",
    ),
    "the launcher Job replaces pods that have ended": (
        *("v2beta1", Settings(), {}, "Job pi-launcher", "spec/podReplacementPolicy"),
        "Failed",
    ),
    "the launcher Job has its own default of tries": (
        "v2beta1",
        Settings(),
        {},
        "Job pi-launcher",
        "spec/backoffLimit",
        None,
    ),
    "the launcher Job has the job's limits": (
        *("v2beta1", Settings(), {"runPolicy": {"backoffLimit": 2}}, "Job pi-launcher", "spec/backoffLimit"),
        2,
    ),
    "the launcher Job is suspended with the job": (
        *("v2beta1", Settings(), {"runPolicy": {"suspend": True}}, "Job pi-launcher", "spec/suspend"),
        True,
    ),
    "the launcher's host name": ("v2beta1", Settings(), {}, "Pod pi-launcher", "spec/hostname", "pi-launcher"),
    "the launcher says what it is": (
        *("v2beta1", Settings(), {}, "Pod pi-launcher", f"{FIRST}/env/K_MPI_JOB_ROLE/value"),
        "launcher",
    ),
    "the launcher sees no GPUs": (
        *("v2beta1", Settings(), {}, "Pod pi-launcher", f"{FIRST}/env/NVIDIA_VISIBLE_DEVICES/value"),
        "",
    ),
    "a gang of the scheduler plugins": (
        "v2beta1",
        PLUGINS,
        {},
        "PodGroup pi",
        "apiVersion",
        "scheduling.x-k8s.io/v1alpha1",
    ),
    "a pod of the scheduler plugins": (
        *("v2beta1", PLUGINS, {}, "Pod pi-launcher", "metadata/labels/scheduling.x-k8s.io~pod-group"),
        "pi",
    ),
    "a pod of the scheduler plugins is placed by them": (
        "v2beta1",
        PLUGINS,
        {},
        "Pod pi-worker-0",
        "spec/schedulerName",
        "plugins",
    ),
}


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=f"{version}: {sentence}")
        for version, table in (("v1", V1), ("v2beta1", V2BETA1))
        for sentence, row in table.items()
    ],
)
def test_an_object(row: Row) -> None:
    version, settings, spec, name, path, expected = row
    body = made(version, settings, **spec)[name]
    assert at(body, path) == expected


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_everything_belongs_to_the_job_in_the_version_it_came_by(version: str) -> None:
    for name, body in made(version, VOLCANO).items():
        if name == "Pod pi-launcher" and version == "v2beta1":
            continue  # a template; its pods belong to the Job
        (owner,) = body["metadata"]["ownerReferences"]
        assert owner == {
            "apiVersion": f"kubeflow.org/{version}",
            "kind": "MPIJob",
            "name": "pi",
            "uid": "u-1",
            "controller": True,
            "blockOwnerDeletion": True,
        }


@pytest.mark.parametrize("path", documents.MPIJOBS, ids=lambda path: path.stem)
def test_the_users_own_manifests_are_accepted_and_run(path: Path) -> None:
    raw = yaml.safe_load(path.read_text())
    raw["metadata"] |= {"namespace": "ns", "uid": "u-1"}
    assert admission_errors(raw) == []
    cluster = running(Cluster(raw))
    assert cluster.conditions == {"Created": "True", "Running": "True"}
    cluster.succeed()
    cluster.settle()
    assert not [pod for pod in cluster.of("Worker") if pod.alive], "cleanPodPolicy is Running in all of them"
