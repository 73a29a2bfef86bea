# SPDX-License-Identifier: Apache-2.0
"""The generated CRDs on the real API server and on the embedded one, in the hands of stock kubectl.

What the users' documents say is done word for word: manifests created unchanged, worker counts edited, patched, scaled.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests import documents
from tests.conformance.programs import CRDS, Kubectl

ROOT = Path(__file__).parent.parent.parent
VERSIONS = ("v1", "v2beta1")
MODES = {"v1": "kubexec", "v2beta1": "ssh"}
ANNOTATION_LIMIT = 256 * 1024

OVER_SSH: dict[str, Any] = {
    "apiVersion": "kubeflow.org/v2beta1",
    "kind": "MPIJob",
    "metadata": {"name": "pi"},
    "spec": {
        "slotsPerWorker": 2,
        "sshAuthMountPath": "/home/mpiuser/.ssh",
        "launcherCreationPolicy": "WaitForWorkersReady",
        "mpiImplementation": "MPICH",
        "runLauncherAsWorker": True,
        "runPolicy": {
            "cleanPodPolicy": "Running",
            "suspend": False,
            "backoffLimit": 3,
            "schedulingPolicy": {"minAvailable": 2, "queue": "research", "minResources": {"cpu": 2, "memory": "1Gi"}},
        },
        "elasticPolicy": {"minReplicas": 1, "maxReplicas": 4},
        "mpiReplicaSpecs": {
            "Launcher": {
                "replicas": 1,
                "restartPolicy": "OnFailure",
                "template": {
                    "metadata": {"labels": {"team": "a"}, "annotations": {"note": "kept"}},
                    "spec": {
                        "containers": [
                            {"name": "main", "image": "pi", "env": [{"name": "A", "value": "b"}], "aFutureField": [1]}
                        ]
                    },
                },
            },
            "Worker": {"replicas": 2, "template": {"spec": {"containers": [{"name": "main", "image": "pi"}]}}},
        },
    },
}


def read(kubectl: Kubectl, name: str, version: str = "v1") -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(kubectl("get", f"mpijobs.{version}.kubeflow.org", name, "-o", "json"))
    return answer


def created(kubectl: Kubectl, obj: dict[str, Any]) -> None:
    kubectl("create", "-f", "-", stdin=yaml.safe_dump(obj))


def changed(obj: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {**obj, "spec": {**obj["spec"], **spec}}


def workers(obj: dict[str, Any]) -> int:
    count: int = obj["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]
    return count


@pytest.mark.parametrize("path", CRDS, ids=lambda path: path.stem)
def test_a_crd_is_small_enough_for_kubectl_apply(path: Path) -> None:
    assert len(json.dumps(yaml.safe_load(path.read_text()))) < ANNOTATION_LIMIT


def test_the_kind_has_its_names_and_both_versions_and_prefers_the_first(admin: Kubectl) -> None:
    for name in ("mj", "mpij", "mpijob", "mpijobs", *(f"mpijobs.{version}.kubeflow.org" for version in VERSIONS)):
        admin("get", name)
    preferred = admin("api-resources", "--api-group=kubeflow.org", "--no-headers").splitlines()
    assert ["mpijobs", "mj,mpij", "kubeflow.org/v1", "true", "MPIJob"] in [line.split() for line in preferred]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", documents.MPIJOBS, ids=lambda path: path.stem)
def test_a_users_manifest_is_kept_whole_whichever_version_it_comes_and_goes_by(
    admin: Kubectl, path: Path, version: str
) -> None:
    text = path.read_text().replace("kubeflow.org/v1", f"kubeflow.org/{version}")
    admin("create", "-f", "-", stdin=text)
    manifest = yaml.safe_load(text)
    marked = changed(manifest, launcherAttachMode=MODES[version])["spec"]
    for read_by in VERSIONS:
        assert read(admin, manifest["metadata"]["name"], read_by)["spec"] == marked


def test_an_edit_by_the_preferred_version_loses_nothing_of_a_job_of_the_other(admin: Kubectl) -> None:
    created(admin, OVER_SSH)
    admin("edit", "mpijob", "pi", KUBE_EDITOR="sed -i -e 's/replicas: 2/replicas: 3/'")
    wanted = changed(OVER_SSH, launcherAttachMode="ssh")
    wanted["spec"]["mpiReplicaSpecs"] = json.loads(json.dumps(wanted["spec"]["mpiReplicaSpecs"]))
    wanted["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = 3
    assert read(admin, "pi", "v2beta1")["spec"] == wanted["spec"]


def test_the_worker_count_follows_patch_and_scale(admin: Kubectl) -> None:
    created(admin, OVER_SSH)
    admin("scale", "mpijob", "pi", "--replicas=4")
    assert workers(read(admin, "pi")) == 4
    admin("patch", "mpijob", "pi", "--type=merge", "-p", '{"spec":{"mpiReplicaSpecs":{"Worker":{"replicas":1}}}}')
    assert workers(read(admin, "pi")) == 1
    admin("scale", "mpijobs.v2beta1.kubeflow.org", "pi", "--replicas=2")
    assert workers(read(admin, "pi")) == 2
    assert read(admin, "pi", "v2beta1")["spec"] == changed(OVER_SSH, launcherAttachMode="ssh")["spec"]


def test_the_scale_subresource_answers_with_the_status(admin: Kubectl) -> None:
    created(admin, OVER_SSH)
    status = {"replicas": 2, "selector": "training.kubeflow.org/job-name=pi"}
    admin("patch", "mpijob", "pi", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    scale = json.loads(admin("get", "mpijob", "pi", "--subresource=scale", "-o", "json"))
    assert (scale["spec"]["replicas"], scale["status"]) == (2, status)


def test_a_job_is_listed_with_its_state_workers_and_bounds(admin: Kubectl) -> None:
    created(admin, OVER_SSH)
    status = {
        "state": "Running",
        "workers": "3/4",
        "minReplicas": 1,
        "maxReplicas": 4,
        "conditions": [{"type": "Running", "status": "True", "lastUpdateTime": "2026-11-16T04:30:00Z"}],
        "replicaStatuses": {"Launcher": {"active": 1}, "Worker": {}},
        "startTime": "2026-11-16T04:30:00Z",
        "restarts": {"Worker": 2},
    }
    admin("patch", "mpijob", "pi", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    heading, line = (text.split() for text in admin("get", "mpijobs").splitlines())
    assert heading == ["NAME", "STATE", "WORKERS", "MIN", "MAX", "AGE"]
    assert line[:-1] == ["pi", "Running", "3/4", "1", "4"]
    assert read(admin, "pi", "v2beta1")["status"] == status


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "no roles": ("v1", {"mpiReplicaSpecs": None}, "spec.mpiReplicaSpecs"),
    "no launcher": ("v1", {"mpiReplicaSpecs": {}}, "spec.mpiReplicaSpecs.Launcher: Required value"),
    "no slots in v1": ("v1", {"slotsPerWorker": 0}, "spec.slotsPerWorker: Invalid value"),
    "slots below nothing": ("v2beta1", {"slotsPerWorker": -1}, "spec.slotsPerWorker: Invalid value: -1"),
    "an unknown policy": ("v1", {"cleanPodPolicy": "Some"}, 'spec.cleanPodPolicy: Unsupported value: "Some"'),
    "an unknown MPI": ("v2beta1", {"mpiImplementation": "LAM"}, 'spec.mpiImplementation: Unsupported value: "LAM"'),
    "an unknown mode": ("v1", {"launcherAttachMode": "rsh"}, 'spec.launcherAttachMode: Unsupported value: "rsh"'),
    "a creation policy nobody knows": (
        "v2beta1",
        {"launcherCreationPolicy": "Later"},
        'spec.launcherCreationPolicy: Unsupported value: "Later"',
    ),
    "no mount path": ("v2beta1", {"sshAuthMountPath": ""}, "spec.sshAuthMountPath: Invalid value"),
    "bounds the wrong way round": (
        "v1",
        {"elasticPolicy": {"minReplicas": 3, "maxReplicas": 2}},
        "spec.elasticPolicy.minReplicas: Invalid value: must not be more than maxReplicas",
    ),
    "a negative deadline": (
        "v1",
        {"runPolicy": {"activeDeadlineSeconds": -1}},
        "spec.runPolicy.activeDeadlineSeconds: Invalid value: -1: ",
    ),
    "a field nobody knows": ("v1", {"slotPerWorker": 1}, 'unknown field "spec.slotPerWorker"'),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_meant_is_refused_with_the_field_named(admin: Kubectl, case: str) -> None:
    version, wrong, said = WRONG[case]
    manifest = changed(OVER_SSH, **wrong) | {"apiVersion": f"kubeflow.org/{version}"}
    assert said in admin.refused("create", "-f", "-", stdin=yaml.safe_dump(manifest))


@pytest.mark.parametrize(
    ("role", "wrong", "said"),
    [
        ("Launcher", {"replicas": 2}, ".replicas: Invalid value: 2"),
        ("Worker", {"replicas": 0}, ".replicas: Invalid value: 0"),
        ("Worker", {"restartPolicy": "Sometimes"}, '.restartPolicy: Unsupported value: "Sometimes"'),
        ("Launcher", {"restartPolicy": "Always"}, ".restartPolicy: Invalid value: "),
        ("Worker", {"restartPolicy": "ExitCode"}, ".restartPolicy: Invalid value: "),
        ("Launcher", {"template": None}, ".template"),
        ("Worker", {"template": {"spec": {"containers": []}}}, ".template.spec.containers: Invalid value: 0"),
        (
            "Worker",
            {"template": {"spec": {"containers": [{"name": "a"}]}}},
            ".template.spec.containers[0].image: Required value",
        ),
    ],
)
def test_a_role_that_cannot_run_is_refused(admin: Kubectl, role: str, wrong: dict[str, Any], said: str) -> None:
    roles = OVER_SSH["spec"]["mpiReplicaSpecs"]
    manifest = changed(OVER_SSH, mpiReplicaSpecs={**roles, role: {**roles[role], **wrong}})
    complaint = admin.refused("create", "-f", "-", stdin=yaml.safe_dump(manifest))
    assert f"spec.mpiReplicaSpecs.{role}{said}" in complaint


def test_restart_policies_only_the_first_version_knows_stay_with_its_jobs(admin: Kubectl) -> None:
    roles = OVER_SSH["spec"]["mpiReplicaSpecs"]
    always = {**roles, "Worker": {**roles["Worker"], "restartPolicy": "Always"}}
    created(admin, changed(OVER_SSH, mpiReplicaSpecs=always) | {"apiVersion": "kubeflow.org/v1"})
    admin("scale", "mpijobs.v2beta1.kubeflow.org", "pi", "--replicas=1")
    assert workers(read(admin, "pi")) == 1


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ({}, {"launcherAttachMode": "kubexec"}, "spec.launcherAttachMode"),
        (
            {"runPolicy": {"managedBy": "kubeflow.org/mpi-operator"}},
            {"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}},
            "spec.runPolicy.managedBy",
        ),
        ({}, {"runPolicy": {"schedulingPolicy": {"queue": "b"}}}, "spec.runPolicy.schedulingPolicy.queue"),
    ],
)
def test_what_a_job_was_made_with_stays(
    admin: Kubectl, before: dict[str, Any], after: dict[str, Any], field: str
) -> None:
    created(admin, changed(OVER_SSH, **before))
    complaint = admin.refused("patch", "mpijob", "pi", "--type=merge", "-p", json.dumps({"spec": after}))
    assert f"{field}: Invalid value: " in complaint
    assert "field is immutable" in complaint


def test_a_job_replaced_by_the_other_version_is_not_attached_anew(admin: Kubectl) -> None:
    created(admin, OVER_SSH)
    other = {**OVER_SSH, "apiVersion": "kubeflow.org/v1"}
    complaint = admin.refused("replace", "-f", "-", stdin=yaml.safe_dump(other))
    assert "spec.launcherAttachMode: Invalid value: " in complaint
    assert read(admin, "pi")["spec"]["launcherAttachMode"] == "ssh"


def test_a_field_is_explained(admin: Kubectl) -> None:
    said = admin("explain", "mpijobs.spec.slotsPerWorker", "--api-version=kubeflow.org/v1")
    assert "The number of ranks (slots) of each worker; 1 by default." in said
