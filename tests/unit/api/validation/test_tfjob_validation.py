# SPDX-License-Identifier: Apache-2.0
"""What is said of a TFJob that cannot be meant; in upstream's wording where upstream has one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from tests.unit.api.any_shape import Changes, change, changes
from tests.unit.api.builders import a_tfjob

from springtide.api.defaults.tfjob import defaulted
from springtide.api.validation import tfjob, updates

ROLES = "spec.tfReplicaSpecs"
WORKER = f"{ROLES}[Worker]"
CONTAINERS = f"{WORKER}.template.spec.containers"
NEGATIVE = "must be greater than or equal to 0"
CLEAN = 'supported values: "All", "None", "Running"'


def said(raw: dict[str, Any]) -> list[str]:
    return [str(error) for error in tfjob.errors(raw)]


def with_worker(**fields: Any) -> dict[str, Any]:
    raw = a_tfjob({"Worker": 2})
    raw["spec"]["tfReplicaSpecs"]["Worker"] |= fields
    return raw


def with_containers(*containers: Any) -> dict[str, Any]:
    return with_worker(template={"spec": {"containers": list(containers)}})


@pytest.mark.parametrize(
    "raw",
    [
        a_tfjob({"Worker": 1}),
        a_tfjob({"Chief": 1, "Ps": 2, "worker": 3, "Evaluator": 1}),
        a_tfjob({"PS": 0, "Worker": 2}),
        a_tfjob({"Master": 1}, restart="ExitCode", successPolicy="", enableDynamicWorker=True, cleanPodPolicy="None"),
        a_tfjob({"Worker": 2}, restart="Always", runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"}),
    ],
)
def test_these_are_fine(raw: dict[str, Any]) -> None:
    assert tfjob.admission_errors(raw) == []


WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no roles": (a_tfjob({}), [f"{ROLES}: Required value: must be required"]),
    "an unknown role": (
        a_tfjob({"Launcher": 1}),
        [
            f'{ROLES}[Launcher]: Unsupported value: "Launcher": '
            'supported values: "Chief", "Master", "PS", "Evaluator", "Worker"'
        ],
    ),
    "one role in two spellings": (
        a_tfjob({"PS": 1, "Ps": 1, "Worker": 1}),
        [f'{ROLES}[Ps]: Invalid value: "Ps": is the same role as PS; give it once, as PS'],
    ),
    "two that lead": (
        a_tfjob({"chief": 1, "Master": 1}),
        [f"{ROLES}: Forbidden: must not have more than 1 Chief or Master role"],
    ),
    "none that ends the job": (
        a_tfjob({"PS": 1, "Evaluator": 1}),
        [f"{WORKER}: Required value: must have a Chief, a Master or a Worker: no other role ends the job"],
    ),
    "negative replicas": (
        with_worker(replicas=-1),
        [f"{WORKER}.replicas: Invalid value: -1: {NEGATIVE}"],
    ),
    "replicas of another type": (
        with_worker(replicas="2"),
        ['spec.tfReplicaSpecs[...].replicas: Invalid value: "string": must be of type integer'],
    ),
    "an unknown restart policy": (
        with_worker(restartPolicy="Sometimes"),
        [
            f'{WORKER}.restartPolicy: Unsupported value: "Sometimes": '
            'supported values: "Always", "ExitCode", "Never", "OnFailure"'
        ],
    ),
    "no template": (with_worker(template={}), [f"{CONTAINERS}: Required value: must be specified"]),
    "no containers": (with_containers(), [f"{CONTAINERS}: Required value: must be specified"]),
    "no container that trains": (
        with_containers({"name": "main", "image": "i"}),
        [f"{CONTAINERS}: Required value: must have at least one container with name tensorflow"],
    ),
    "a container without an image": (
        with_containers({"name": "tensorflow"}),
        [f"{CONTAINERS}[0].image: Required value: must be required"],
    ),
    "a container without a name": (
        with_containers({"name": "tensorflow", "image": "i"}, {"image": "i"}),
        [f"{CONTAINERS}[1].name: Required value: must be required"],
    ),
    "an amount that is none": (
        with_containers({"name": "tensorflow", "image": "i", "resources": {"limits": {"cpu": "lots"}}}),
        [
            f'{CONTAINERS}[0].resources.limits[cpu]: Invalid value: "lots": quantities must match the regular '
            "expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ],
    ),
    "an unknown success policy": (
        a_tfjob({"Worker": 2}, successPolicy="Most"),
        ['spec.successPolicy: Unsupported value: "Most": supported values: "", "AllWorkers"'],
    ),
    "a switch of another type": (
        a_tfjob({"Worker": 2}, enableDynamicWorker="yes"),
        ['spec.enableDynamicWorker: Invalid value: "string": must be of type boolean'],
    ),
    "limits of the run policy": (
        a_tfjob(
            {"Worker": 2},
            runPolicy={
                "cleanPodPolicy": "Most",
                "ttlSecondsAfterFinished": -1,
                "activeDeadlineSeconds": -2,
                "backoffLimit": -3,
                "managedBy": "me",
                "schedulingPolicy": {"minAvailable": -1, "scheduleTimeoutSeconds": -5},
            },
        ),
        [
            f'spec.runPolicy.cleanPodPolicy: Unsupported value: "Most": {CLEAN}',
            f"spec.runPolicy.ttlSecondsAfterFinished: Invalid value: -1: {NEGATIVE}",
            f"spec.runPolicy.activeDeadlineSeconds: Invalid value: -2: {NEGATIVE}",
            f"spec.runPolicy.backoffLimit: Invalid value: -3: {NEGATIVE}",
            f"spec.runPolicy.schedulingPolicy.minAvailable: Invalid value: -1: {NEGATIVE}",
            f"spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds: Invalid value: -5: {NEGATIVE}",
            'spec.runPolicy.managedBy: Unsupported value: "me": '
            'supported values: "kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"',
        ],
    ),
    "the same limits beside it": (
        a_tfjob(
            {"Worker": 2},
            cleanPodPolicy="Most",
            ttlSecondsAfterFinished=-1,
            activeDeadlineSeconds=-2,
            backoffLimit=-3,
            schedulingPolicy={"minAvailable": -1},
        ),
        [
            f'spec.cleanPodPolicy: Unsupported value: "Most": {CLEAN}',
            f"spec.ttlSecondsAfterFinished: Invalid value: -1: {NEGATIVE}",
            f"spec.activeDeadlineSeconds: Invalid value: -2: {NEGATIVE}",
            f"spec.backoffLimit: Invalid value: -3: {NEGATIVE}",
            f"spec.schedulingPolicy.minAvailable: Invalid value: -1: {NEGATIVE}",
        ],
    ),
}


@pytest.mark.parametrize(("raw", "errors"), WRONG.values(), ids=WRONG)
def test_bad_input_is_refused_at_its_place(raw: dict[str, Any], errors: list[str]) -> None:
    assert said(raw) == errors


def test_the_name_must_be_a_label() -> None:
    (error,) = said(a_tfjob({"Worker": 1}, name="1st"))
    assert error.startswith('metadata.name: Invalid value: "1st": should match: a DNS-1035 label must consist of')


@pytest.mark.parametrize(("role", "replicas", "fits"), [("PS", 10, True), ("PS", 11, False), ("Worker", 1, False)])
def test_the_longest_name_of_a_pod_must_fit(role: str, replicas: int, fits: bool) -> None:
    found = [error for error in said(a_tfjob({role: replicas}, name="a" * 58)) if error.startswith("metadata.name")]
    assert (not found) is fits
    assert fits or "metadata.name: Invalid value" in found[0]


def test_sizes_above_the_operators_limit_are_refused_at_admission_alone() -> None:
    raw = a_tfjob({"PS": 4, "Worker": 5})
    assert said(raw) == []
    assert [error.field for error in tfjob.admission_errors(raw, most=4)] == [f"{WORKER}.replicas"]
    assert [error.field for error in tfjob.admission_errors(raw, most=3)] == [
        f"{ROLES}[PS].replicas",
        f"{WORKER}.replicas",
    ]


def test_the_manager_of_a_job_cannot_change() -> None:
    old = a_tfjob({"Worker": 2}, runPolicy={"managedBy": "kubeflow.org/training-operator"})
    new = a_tfjob({"Worker": 2}, runPolicy={})
    errors = updates.judged(tfjob.admission_errors, old, new).errors
    assert [str(error) for error in errors] == [
        "spec.runPolicy.managedBy: Invalid value: null: field is immutable",
    ]


@given(changes())
def test_an_object_of_any_shape_is_either_refused_or_has_a_meaning(changed: Changes) -> None:
    policy = {"suspend": False, "schedulingPolicy": {"minResources": {"cpu": 1}}}
    raw = a_tfjob({"Chief": 1, "Ps": 2, "Worker": 2}, cleanPodPolicy="All", successPolicy="", runPolicy=policy)
    change(raw, changed)
    before = msgspec.json.encode(raw)
    if not tfjob.errors(raw):
        assert all(role.replicas >= 0 for role in defaulted(raw).roles.values())
        tfjob.admission_errors(raw)
    assert msgspec.json.encode(raw) == before, "a raw object is only ever read"
