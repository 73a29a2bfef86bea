# SPDX-License-Identifier: Apache-2.0
"""What is said of a PyTorchJob that cannot be meant; in upstream's wording where upstream has one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.builders import a_pytorchjob

from springtide.api.validation import pytorchjob, updates

ROLES = "spec.pytorchReplicaSpecs"
MASTER, WORKER = f"{ROLES}[Master]", f"{ROLES}[Worker]"
CONTAINERS = f"{WORKER}.template.spec.containers"
ELASTIC = "spec.elasticPolicy"
NEGATIVE = "must be greater than or equal to 0"
POSITIVE = "must be greater than or equal to 1"
SETTING = "must have a key without equal sign, and no comma: torchrun splits at them"


def said(raw: dict[str, Any]) -> list[str]:
    return [str(error) for error in pytorchjob.errors(raw)]


def with_containers(*containers: Any) -> dict[str, Any]:
    raw = a_pytorchjob({"Worker": 2})
    raw["spec"]["pytorchReplicaSpecs"]["Worker"]["template"] = {"spec": {"containers": list(containers)}}
    return raw


def elastic(**policy: Any) -> dict[str, Any]:
    return a_pytorchjob({"Worker": 2}, elasticPolicy=policy)


def without_replicas(role: str) -> dict[str, Any]:
    raw = a_pytorchjob({"Master": 1, "Worker": 1})
    del raw["spec"]["pytorchReplicaSpecs"][role]["replicas"]
    return raw


@pytest.mark.parametrize(
    "raw",
    [
        a_pytorchjob({"Master": 1}),
        a_pytorchjob({"master": 1, "WORKER": 3}, nprocPerNode="8", cleanPodPolicy="Running"),
        a_pytorchjob({"Worker": 1}, restart="ExitCode", nprocPerNode="gpu"),
        elastic(minReplicas=1, maxReplicas=2, rdzvBackend="etcd-v2", rdzvPort=1, rdzvHost="h", rdzvId="i"),
        elastic(rdzvConf=[], metrics=[], standalone=True, maxRestarts=0, nProcPerNode=1),
        elastic(rdzvConf=[{"key": "join_timeout", "value": "a=b"}]),
        without_replicas("Master"),
        without_replicas("Worker"),
    ],
)
def test_these_are_fine(raw: dict[str, Any]) -> None:
    assert pytorchjob.admission_errors(raw) == []


WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no roles": (a_pytorchjob({}), [f"{ROLES}: Required value: must be required"]),
    "an unknown role": (
        a_pytorchjob({"Chief": 1}),
        [f'{ROLES}[Chief]: Unsupported value: "Chief": supported values: "Master", "Worker"'],
    ),
    "one role in two spellings": (
        a_pytorchjob({"Worker": 1, "worker": 1}),
        [f'{ROLES}[worker]: Invalid value: "worker": is the same role as Worker; give it once, as Worker'],
    ),
    "two masters": (a_pytorchjob({"Master": 2}), [f"{MASTER}.replicas: Forbidden: must be 1"]),
    "no master where there is one": (a_pytorchjob({"Master": 0}), [f"{MASTER}.replicas: Forbidden: must be 1"]),
    "no workers": (a_pytorchjob({"Worker": 0}), [f"{WORKER}.replicas: Forbidden: must be at least 1"]),
    "negative workers": (
        a_pytorchjob({"Worker": -1}),
        [
            f"{WORKER}.replicas: Invalid value: -1: {NEGATIVE}",
            f"{WORKER}.replicas: Forbidden: must be at least 1",
        ],
    ),
    "an unknown restart policy": (
        a_pytorchjob({"Worker": 1}, restart="Sometimes"),
        [
            f'{WORKER}.restartPolicy: Unsupported value: "Sometimes": '
            'supported values: "Always", "ExitCode", "Never", "OnFailure"'
        ],
    ),
    "no containers": (with_containers(), [f"{CONTAINERS}: Required value: must be specified"]),
    "no container that trains": (
        with_containers({"name": "main", "image": "i"}),
        [f"{CONTAINERS}: Required value: must have at least one container with name pytorch"],
    ),
    "a container without an image": (
        with_containers({"name": "pytorch", "image": ""}),
        [f"{CONTAINERS}[0].image: Required value: must be required"],
    ),
    "a template of another type": (
        with_containers(1),
        [f'{CONTAINERS}[0]: Invalid value: "integer": must be of type object'],
    ),
    "processes that torchrun does not take": (
        a_pytorchjob({"Worker": 1}, nprocPerNode="0"),
        ['spec.nprocPerNode: Invalid value: "0": must be auto, cpu, gpu, xpu or a positive number'],
    ),
    "processes of another type": (
        a_pytorchjob({"Worker": 1}, nprocPerNode=4),
        ['spec.nprocPerNode: Invalid value: "integer": must be of type string'],
    ),
    "both fields for processes": (
        a_pytorchjob({"Worker": 1}, nprocPerNode="4", elasticPolicy={"nProcPerNode": 4}),
        [f"{ELASTIC}.nProcPerNode: Forbidden: must not be used with spec.nprocPerNode"],
    ),
    "an elastic job without workers": (
        a_pytorchjob({"Master": 1}, elasticPolicy={}),
        [f"{WORKER}: Required value: must be configured if elastic policy is used"],
    ),
    "bounds below one": (
        elastic(minReplicas=0, maxReplicas=-1),
        [
            f"{ELASTIC}.minReplicas: Invalid value: 0: {POSITIVE}",
            f"{ELASTIC}.maxReplicas: Invalid value: -1: {POSITIVE}",
            f"{ELASTIC}.minReplicas: Invalid value: 0: must not be more than maxReplicas",
        ],
    ),
    "bounds in the wrong order": (
        elastic(minReplicas=3, maxReplicas=2),
        [f"{ELASTIC}.minReplicas: Invalid value: 3: must not be more than maxReplicas"],
    ),
    "an unknown backend": (
        elastic(rdzvBackend="zeus"),
        [f'{ELASTIC}.rdzvBackend: Unsupported value: "zeus": supported values: "c10d", "etcd", "etcd-v2"'],
    ),
    "a port that is none": (
        elastic(rdzvPort=65536),
        [f"{ELASTIC}.rdzvPort: Invalid value: 65536: must be between 1 and 65535"],
    ),
    "negative restarts": (elastic(maxRestarts=-1), [f"{ELASTIC}.maxRestarts: Invalid value: -1: {NEGATIVE}"]),
    "less than one process": (elastic(nProcPerNode=0), [f"{ELASTIC}.nProcPerNode: Invalid value: 0: {POSITIVE}"]),
    "settings that torchrun reads otherwise": (
        elastic(rdzvConf=[{"key": "a", "value": "1"}, {"value": "2"}, {"key": "b", "value": "3,4"}]),
        [
            f'{ELASTIC}.rdzvConf[1]: Invalid value: "=2": {SETTING}',
            f'{ELASTIC}.rdzvConf[2]: Invalid value: "b=3,4": {SETTING}',
        ],
    ),
    "metrics that are none": (
        elastic(metrics=["cpu"]),
        [f'{ELASTIC}.metrics[0]: Invalid value: "string": must be of type object'],
    ),
    "limits in both places": (
        a_pytorchjob({"Worker": 1}, backoffLimit=-1, runPolicy={"backoffLimit": -2, "managedBy": "me"}),
        [
            f"spec.backoffLimit: Invalid value: -1: {NEGATIVE}",
            f"spec.runPolicy.backoffLimit: Invalid value: -2: {NEGATIVE}",
            'spec.runPolicy.managedBy: Unsupported value: "me": '
            'supported values: "kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"',
        ],
    ),
}


@pytest.mark.parametrize(("raw", "errors"), WRONG.values(), ids=WRONG)
def test_bad_input_is_refused_at_its_place(raw: dict[str, Any], errors: list[str]) -> None:
    assert said(raw) == errors


@pytest.mark.parametrize(
    ("workers", "way_out"),
    [(1, "ask for 2 or change spec.elasticPolicy first"), (5, "ask for 4 or change spec.elasticPolicy first")],
)
def test_sizes_outside_the_bounds_are_refused_at_admission_alone(workers: int, way_out: str) -> None:
    raw = a_pytorchjob({"Worker": workers}, elasticPolicy={"minReplicas": 2, "maxReplicas": 4})
    assert said(raw) == []
    assert [str(error) for error in pytorchjob.admission_errors(raw)] == [
        f"{WORKER}.replicas: Invalid value: {workers}: must be between 2 and 4, as spec.elasticPolicy says; {way_out}"
    ]


def test_the_bounds_do_not_count_the_master() -> None:
    raw = a_pytorchjob({"Master": 1, "Worker": 4}, elasticPolicy={"minReplicas": 4, "maxReplicas": 4})
    assert pytorchjob.admission_errors(raw) == []


def test_the_manager_of_a_job_cannot_change() -> None:
    """Upstream's webhook compares the new object with itself."""
    old, new = (
        a_pytorchjob({"Worker": 2}, runPolicy=policy) for policy in ({}, {"managedBy": "kueue.x-k8s.io/multikueue"})
    )
    errors = updates.judged(pytorchjob.admission_errors, old, new).errors
    assert [str(error) for error in errors] == [
        'spec.runPolicy.managedBy: Invalid value: "kueue.x-k8s.io/multikueue": field is immutable'
    ]


@pytest.mark.parametrize(
    ("ports", "error"),
    [
        ("x", f'{CONTAINERS}[0].ports: Invalid value: "string": must be of type array'),
        ([None], f'{CONTAINERS}[0].ports[0]: Invalid value: "null": must be of type object'),
        ([{"name": "a"}], f"{CONTAINERS}[0].ports[0].containerPort: Required value: must be required"),
        (
            [{"name": "a", "containerPort": "http"}],
            f'{CONTAINERS}[0].ports[0].containerPort: Invalid value: "string": must be of type integer',
        ),
        (
            [{"name": 5, "containerPort": 5}],
            f'{CONTAINERS}[0].ports[0].name: Invalid value: "integer": must be of type string',
        ),
    ],
)
def test_ports_that_no_service_can_be_made_of(ports: Any, error: str) -> None:
    assert said(with_containers({"name": "pytorch", "image": "i", "ports": ports})) == [error]


@pytest.mark.parametrize("field", ["initContainers", "containers"])
def test_the_name_of_the_container_that_waits_for_the_master_is_taken(field: str) -> None:
    raw = a_pytorchjob({"Master": 1, "Worker": 1})
    spec = raw["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    spec[field] = [*spec.get(field, []), {"name": "init-pytorch", "image": "i"}]
    (error,) = said(raw)
    assert error.startswith(f"{WORKER}.template.spec.{field}[")
    assert error.endswith(
        '.name: Invalid value: "init-pytorch": is the name of the container that waits for the master'
    )
    del raw["spec"]["pytorchReplicaSpecs"]["Master"]
    assert said(raw) == []
