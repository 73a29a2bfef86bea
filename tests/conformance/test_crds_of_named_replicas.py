# SPDX-License-Identifier: Apache-2.0
"""The CRDs of TFJob and PyTorchJob on the real API server and on the embedded one, in the hands of stock kubectl.

That a CRD is established says that its rules compile there, within the budget of their cost.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import pytest
import yaml
from tests.conformance.programs import Kubectl

API_VERSION = "--api-version=kubeflow.org/v1"
"""Other tests define kinds of the same name in groups of their own on the same server."""


class Of(NamedTuple):
    """What differs between the kinds."""

    kind: str
    specs: str
    container: str
    leader: str
    roles: str

    @property
    def plural(self) -> str:
        return f"{self.kind.lower()}s"


TF = Of("TFJob", "tfReplicaSpecs", "tensorflow", "Chief", "Chief, Master, PS, Evaluator, Worker")
TORCH = Of("PyTorchJob", "pytorchReplicaSpecs", "pytorch", "Master", "Master, Worker")
kinds = pytest.mark.parametrize("of", [TF, TORCH], ids=lambda of: of.kind)


def a_job(of: Of, roles: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Each role with a number of replicas, None for no number, or fields of its own."""
    template = {"spec": {"containers": [{"name": of.container, "image": "train", "aFutureField": [1]}]}}
    specs: dict[str, Any] = {}
    for role, given in roles.items():
        fields = given if isinstance(given, dict) else {} if given is None else {"replicas": given}
        specs[role] = {"template": template, **fields}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": of.kind,
        "metadata": {"name": "mnist"},
        "spec": {of.specs: specs, **spec},
    }


def created(kubectl: Kubectl, obj: dict[str, Any]) -> dict[str, Any]:
    kubectl("create", "-f", "-", stdin=yaml.safe_dump(obj))
    return read(kubectl, obj["kind"])


def refused(kubectl: Kubectl, obj: dict[str, Any]) -> str:
    return kubectl.refused("create", "-f", "-", stdin=yaml.safe_dump(obj))


def read(kubectl: Kubectl, kind: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(kubectl("get", kind, "mnist", "-o", "json"))
    return answer


@kinds
def test_a_kind_has_its_names_and_one_version(admin: Kubectl, of: Of) -> None:
    lines = admin("api-resources", "--api-group=kubeflow.org", "--no-headers").splitlines()
    assert [of.plural, "kubeflow.org/v1", "true", of.kind] in [line.split() for line in lines]


@kinds
def test_what_is_left_out_has_a_default_and_the_roles_stay_as_they_are_spelled(admin: Kubectl, of: Of) -> None:
    leader = of.leader.lower()
    spec = created(admin, a_job(of, {leader: None, "WORKER": 2}))["spec"]
    assert spec["runPolicy"] == {}
    assert {role: fields["replicas"] for role, fields in spec[of.specs].items()} == {leader: 1, "WORKER": 2}
    assert spec[of.specs]["WORKER"]["template"]["spec"]["containers"][0]["aFutureField"] == [1]


@kinds
def test_a_role_that_there_is_none_is_refused_with_those_that_there_are(admin: Kubectl, of: Of) -> None:
    complaint = refused(admin, a_job(of, {"Worker": 1, "Launcher": 1}))
    assert f"spec.{of.specs}: Invalid value: " in complaint
    assert f'"Launcher" is not a role; the roles are {of.roles}' in complaint


@kinds
def test_two_spellings_of_one_role_are_refused(admin: Kubectl, of: Of) -> None:
    complaint = refused(admin, a_job(of, {"Worker": 1, "worker": 1}))
    assert "a role must not be given twice in different spellings" in complaint


@kinds
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"replicas": 100_001}, ".replicas: Invalid value: 100001: "),
        ({"replicas": -1}, ".replicas: Invalid value: -1: "),
        ({"restartPolicy": "Sometimes"}, '.restartPolicy: Unsupported value: "Sometimes"'),
        ({"template": {"spec": {"containers": []}}}, ".template.spec.containers: Invalid value: 0"),
    ],
)
def test_a_role_that_cannot_run_is_refused(admin: Kubectl, of: Of, wrong: dict[str, Any], said: str) -> None:
    assert f"spec.{of.specs}.Worker{said}" in refused(admin, a_job(of, {"Worker": wrong}))


@kinds
def test_a_role_without_a_template_is_refused(admin: Kubectl, of: Of) -> None:
    said = f"spec.{of.specs}[Worker].template: Required value: a role has the template of its pods"
    assert said in refused(admin, a_job(of, {"Worker": {"template": None}}))


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (a_job(TF, {"Chief": 1, "master": 1}), "must not have more than 1 Chief or Master role"),
        (a_job(TF, {"Worker": 1}, successPolicy="Any"), 'spec.successPolicy: Unsupported value: "Any"'),
        (a_job(TF, {"Worker": 1}, enableDynamicWorkers=True), 'unknown field "spec.enableDynamicWorkers"'),
        (a_job(TORCH, {"master": 2}), "the Master must have 1 replica"),
        (a_job(TORCH, {"Worker": 0}), "spec.pytorchReplicaSpecs.Worker.replicas: Invalid value: 0"),
        (a_job(TORCH, {"Worker": 1}, nprocPerNode="many"), "spec.nprocPerNode: Invalid value"),
        (
            a_job(TORCH, {"Worker": 1}, elasticPolicy={"minReplicas": 3, "maxReplicas": 2}),
            "spec.elasticPolicy.minReplicas: Invalid value: must not be more than maxReplicas",
        ),
        (
            a_job(TORCH, {"Worker": 1}, elasticPolicy={"rdzvBackend": "zookeeper"}),
            'spec.elasticPolicy.rdzvBackend: Unsupported value: "zookeeper"',
        ),
        (a_job(TF, {}), "spec.tfReplicaSpecs: Invalid value: 0"),
        (a_job(TORCH, {}), "spec.pytorchReplicaSpecs: Invalid value: 0"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_field_named(
    admin: Kubectl, manifest: dict[str, Any], said: str
) -> None:
    assert said in refused(admin, manifest)


@kinds
def test_the_run_limits_may_stand_in_either_place(admin: Kubectl, of: Of) -> None:
    limits = {"cleanPodPolicy": "None", "backoffLimit": 1, "ttlSecondsAfterFinished": 9, "activeDeadlineSeconds": 99}
    spec = created(admin, a_job(of, {"Worker": 1}, runPolicy=limits, **limits))["spec"]
    assert spec.items() >= {**limits, "runPolicy": limits}.items()


@kinds
def test_the_worker_count_follows_scale_patch_and_edit(admin: Kubectl, of: Of) -> None:
    created(admin, a_job(of, {of.leader: 1, "Worker": 2}))
    admin("scale", of.kind, "mnist", "--replicas=4")
    assert read(admin, of.kind)["spec"][of.specs]["Worker"]["replicas"] == 4
    patch = {"spec": {of.specs: {"Worker": {"replicas": 5}}}}
    admin("patch", of.kind, "mnist", "--type=merge", "-p", json.dumps(patch))
    admin("edit", of.kind, "mnist", KUBE_EDITOR="sed -i -e 's/replicas: 5/replicas: 3/'")
    assert read(admin, of.kind)["spec"][of.specs]["Worker"]["replicas"] == 3


@kinds
def test_workers_in_another_spelling_have_no_scale(admin: Kubectl, of: Of) -> None:
    created(admin, a_job(of, {"worker": 2}))
    complaint = admin.refused("scale", of.kind, "mnist", "--replicas=4")
    assert (
        "a role must not be given twice in different spellings; kubectl scale and autoscalers need Worker" in complaint
    )
    unread = admin.refused("get", of.kind, "mnist", "--subresource=scale")
    assert f'the spec replicas field ".spec.{of.specs}.Worker.replicas" does not exist' in unread


@kinds
def test_a_job_is_listed_with_its_state_workers_and_bounds(admin: Kubectl, of: Of) -> None:
    created(admin, a_job(of, {"Worker": 2}))
    status = {
        "state": "Running",
        "workers": "3/4",
        "minReplicas": 1,
        "maxReplicas": 4,
        "replicas": 3,
        "selector": "training.kubeflow.org/job-name=mnist",
        "startTime": "2026-11-16T04:30:00Z",
    }
    admin("patch", of.kind, "mnist", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    heading, line = (text.split() for text in admin("get", of.plural).splitlines())
    assert heading == ["NAME", "STATE", "WORKERS", "MIN", "MAX", "AGE"]
    assert line[:-1] == ["mnist", "Running", "3/4", "1", "4"]
    scale = json.loads(admin("get", of.kind, "mnist", "--subresource=scale", "-o", "json"))
    assert (scale["spec"]["replicas"], scale["status"]) == (
        2,
        {"replicas": 3, "selector": "training.kubeflow.org/job-name=mnist"},
    )


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("tfjobs", "A TensorFlow job"),
        ("tfjobs.spec.enableDynamicWorker", "Whether workers may come and go while the job trains"),
        ("tfjobs.spec.tfReplicaSpecs", "The roles of the job: Chief or Master, PS, Worker and Evaluator"),
        ("pytorchjobs", "A PyTorch job"),
        ("pytorchjobs.spec.nprocPerNode", "Processes per replica that torchrun starts"),
        ("pytorchjobs.spec.elasticPolicy.metrics", "Metrics, as of autoscaling/v2"),
        ("pytorchjobs.spec.pytorchReplicaSpecs.restartPolicy", "Whether the containers of a pod are restarted"),
    ],
)
def test_a_field_is_explained(admin: Kubectl, field: str, said: str) -> None:
    assert said in " ".join(admin("explain", field, API_VERSION).split())


@kinds
def test_every_field_has_a_text(admin: Kubectl, of: Of) -> None:
    fields = admin("explain", f"{of.plural}.spec", API_VERSION).split("FIELDS:")[1]
    texts = dict(re.findall(r"^  (\w+)\t<.*\n(?:  enum: .*\n)?    (.+)$", fields, re.MULTILINE))
    assert {"runPolicy", of.specs, "cleanPodPolicy"} <= set(texts)
    assert "<no description>" not in texts.values()
