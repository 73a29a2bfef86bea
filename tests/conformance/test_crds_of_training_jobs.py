# SPDX-License-Identifier: Apache-2.0
"""The CRDs of TrainingJob, ScaleOut and ScaleIn on the real API server and on the embedded one, in the hands of stock
kubectl; Arena's own manifests among them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from tests import arena
from tests.conformance.programs import Kubectl
from tests.unit.api.builders import a_scale_in, a_scale_out, a_trainingjob

from springtide.api.validation import scalers, trainingjob

Obj = dict[str, Any]
WORKER = "spec.etReplicaSpecs.worker"
GROUP = "kai.alibabacloud.com"
JOBS = f"trainingjobs.{GROUP}"
"""Other tests define kinds of the same name in groups of their own on the same server."""


def plain(raw: Obj) -> Obj:
    """Without what only an API server gives it."""
    return raw | {"metadata": {"name": raw["metadata"]["name"]}}


def created(kubectl: Kubectl, raw: Obj) -> Obj:
    kubectl("create", "-f", "-", stdin=yaml.safe_dump(raw))
    return read(kubectl, raw)


def read(kubectl: Kubectl, raw: Obj) -> Obj:
    found: Obj = json.loads(kubectl("get", f"{raw['kind'].lower()}s.{GROUP}", raw["metadata"]["name"], "-o", "json"))
    return found


def patched(*kind_and_name: str, **fields: Any) -> list[str]:
    return ["patch", *kind_and_name, "--type=merge", "-p", json.dumps(fields)]


def refused(kubectl: Kubectl, raw: Obj) -> str:
    return kubectl.refused("create", "-f", "-", stdin=yaml.safe_dump(plain(raw)))


def test_the_kinds_have_their_names(admin: Kubectl) -> None:
    lines = admin("api-resources", f"--api-group={GROUP}", "--no-headers").splitlines()
    assert sorted(line.split() for line in lines) == [
        [f"{kind.lower()}s", "kai.alibabacloud.com/v1alpha1", "true", kind]
        for kind in ("ScaleIn", "ScaleOut", "TrainingJob")
    ]


def test_what_arena_renders_is_kept_whole(admin: Kubectl) -> None:
    _, job = arena.etjob()
    stored = created(admin, job)
    assert stored["metadata"].items() >= job["metadata"].items()
    assert stored["spec"] == job["spec"] | {"restartPolicy": "Never", "launcherAttachMode": "ssh"}
    for scaler, validate in ((arena.scaleout_with_script(), scalers), (arena.scalein(), scalers), (job, trainingjob)):
        stored = read(admin, job) if scaler is job else created(admin, scaler)
        assert validate.errors(stored) == []
        assert stored["spec"].items() >= scaler["spec"].items()


def test_what_is_left_out_has_a_default(admin: Kubectl) -> None:
    spec = created(admin, plain(a_trainingjob(workers=None)))["spec"]
    assert spec["etReplicaSpecs"]["worker"]["replicas"] == 1
    assert (spec["restartPolicy"], spec["backoffLimit"], spec["launcherAttachMode"]) == ("Never", 6, "ssh")
    scaler = created(admin, plain(a_scale_out()))["spec"]
    assert (scaler["timeout"], scaler["backoffLimit"]) == (60, 0)


def test_the_worker_count_follows_scale_and_patch(admin: Kubectl) -> None:
    job = created(admin, plain(a_trainingjob()))
    admin("scale", JOBS, "bert", "--replicas=4")
    assert read(admin, job)["spec"]["etReplicaSpecs"]["worker"]["replicas"] == 4
    admin(*patched(JOBS, "bert", spec={"etReplicaSpecs": {"worker": {"replicas": 3}}}))
    assert json.loads(admin("get", JOBS, "bert", "--subresource=scale", "-o", "json"))["spec"]["replicas"] == 3


CREATED: Obj = {"type": "Created", "status": "True"}
SCALING: Obj = {"type": "Scaling", "status": "True"}
COUNTS: Obj = {"replicaStatuses": {}, "restartCount": 0}


def test_a_job_is_listed_with_its_phase_first(admin: Kubectl) -> None:
    created(admin, plain(a_trainingjob()))
    status = COUNTS | {
        "phase": "Scaling",
        "state": "ScalingOut",
        "workers": "2/3",
        "minReplicas": 1,
        "conditions": [SCALING, CREATED],
        "currentScaler": "ScaleOut:default/grow",
        "targetWorkers": ["bert-worker-0"],
        "currentWorkers": [],
    }
    admin(*patched(JOBS, "bert", status=status), "--subresource=status")
    heading, line = (text.split() for text in admin("get", JOBS).splitlines())
    assert heading == ["NAME", "PHASE", "STATE", "WORKERS", "MIN", "MAX", "AGE"]
    assert line[:5] == ["bert", "Scaling", "ScalingOut", "2/3", "1"]
    assert read(admin, a_trainingjob())["status"] == status


@pytest.mark.parametrize("raw", [a_scale_out(), a_scale_in()], ids=lambda raw: raw["kind"])
def test_a_scaler_is_listed_with_the_condition_that_was_set_last(admin: Kubectl, raw: Obj) -> None:
    kind, name = raw["kind"].lower(), raw["metadata"]["name"]
    created(admin, plain(raw))
    status = COUNTS | {"phase": "Scaling", "startSize": 2, "targetSize": 3}
    for conditions in ([CREATED], [CREATED, SCALING], [SCALING, CREATED]):
        admin(*patched(kind, name, status=status | {"conditions": conditions}), "--subresource=status")
        assert admin("get", kind, "--no-headers").split()[:2] == [name, conditions[-1]["type"]]
    heading, line = (text.split() for text in admin("get", kind, "-o", "wide").splitlines())
    assert heading == ["NAME", "PHASE", "AGE", "JOB", "FROM", "TO"]
    assert line[3:] == ["bert", "2", "3"]


@pytest.mark.parametrize("raw", [a_scale_out(), a_scale_in()], ids=lambda raw: raw["kind"])
def test_a_scaler_keeps_its_spec_once_its_turn_has_come(admin: Kubectl, raw: Obj) -> None:
    kind, name = raw["kind"].lower(), raw["metadata"]["name"]
    created(admin, plain(raw))
    admin(*patched(kind, name, spec={"timeout": 61}))
    for phase in ("Created", "Scaling", "ScaleFailed"):
        status = COUNTS | {"phase": phase, "conditions": [CREATED]}
        admin(*patched(kind, name, status=status), "--subresource=status")
        if phase == "Created":
            admin(*patched(kind, name, spec={"timeout": 62}))
        else:
            complaint = admin.refused(*patched(kind, name, spec={"timeout": 63}))
            assert "spec: Forbidden: is immutable once the scaler's turn has come" in complaint
    admin("label", kind, name, "a=b")
    assert read(admin, raw)["spec"]["timeout"] == 62


def with_roles(**roles: Any) -> Obj:
    raw = a_trainingjob()
    raw["spec"]["etReplicaSpecs"] = {
        role: fields for role, fields in (raw["spec"]["etReplicaSpecs"] | roles).items() if fields is not None
    }
    return raw


NOBODY = "spec.toDelete: Invalid value: must have count, the number of workers to remove, or podNames, their names"
WRONG: dict[str, tuple[Obj, str]] = {
    "no launcher": (with_roles(launcher=None), "spec.etReplicaSpecs.launcher: Required value"),
    "no worker": (with_roles(worker=None), f"{WORKER}: Required value"),
    "another role": (with_roles(master={}), 'unknown field "spec.etReplicaSpecs.master"'),
    "two launchers": (a_trainingjob(launcher={"replicas": 2}), "spec.etReplicaSpecs.launcher.replicas: Invalid value"),
    "no workers": (a_trainingjob(workers=0), f"{WORKER}.replicas: Invalid value: 0"),
    "bounds the wrong way round": (
        a_trainingjob(worker={"minReplicas": 3, "maxReplicas": 2}),
        f"{WORKER}.minReplicas: Invalid value: must not be more than maxReplicas",
    ),
    "no template": (a_trainingjob(worker={"template": None}), f"{WORKER}.template: Required value"),
    "an unknown restart policy": (a_trainingjob(restartPolicy="Always"), "spec.restartPolicy: Unsupported value"),
    "an unknown mode": (a_trainingjob(launcherAttachMode="rsh"), "spec.launcherAttachMode: Unsupported value"),
    "no slots": (a_trainingjob(slotsPerWorker=0), "spec.slotsPerWorker: Invalid value: 0"),
    "no number": (a_scale_out(None), "spec.toAdd.count: Required value"),
    "adding none": (a_scale_out(0), "spec.toAdd.count: Invalid value: 0"),
    "nowhere to add": (a_scale_out(selector={}), "spec.selector.name: Required value"),
    "an empty name": (a_scale_out(selector={"name": ""}), "spec.selector.name: Invalid value"),
    "nobody to remove": (a_scale_in({}), NOBODY),
    "no names": (a_scale_in({"podNames": []}), NOBODY),
    "none to remove": (a_scale_in({"count": 0}), NOBODY),
    "a name twice": (a_scale_in({"podNames": ["a", "a"]}), 'spec.toDelete.podNames[1]: Duplicate value: "a"'),
    "a timeout below zero": (a_scale_in(timeout=-1), "spec.timeout: Invalid value: -1"),
    "a variable that is none": (a_scale_out(env=[{"name": "A-B"}]), "spec.env[0].name: Invalid value"),
}


@pytest.mark.parametrize(("raw", "said"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_meant_is_refused_with_the_field_named(admin: Kubectl, raw: Obj, said: str) -> None:
    assert said in refused(admin, raw)


def test_a_job_is_not_attached_anew(admin: Kubectl) -> None:
    created(admin, plain(a_trainingjob()))
    complaint = admin.refused(*patched(JOBS, "bert", spec={"launcherAttachMode": "kubexec"}))
    assert "spec.launcherAttachMode: Invalid value: " in complaint


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("trainingjobs", "An elastic training job"),
        ("trainingjobs.spec.etReplicaSpecs.worker.maxReplicas", "The most workers that the job may be resized to"),
        ("scaleouts.spec.toAdd", "The workers to add"),
        ("scaleins.spec.toDelete.podNames", "The names of the worker pods to remove"),
    ],
)
def test_a_field_is_explained(admin: Kubectl, field: str, said: str) -> None:
    assert said in " ".join(admin("explain", field, f"--api-version={GROUP}/v1alpha1").split())
