# SPDX-License-Identifier: Apache-2.0
"""MPIJobs are those of Arena's own chart, written as `kubeflow.org/v1`, except for the differences listed here."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any, Final

import pytest
from tests.unit.manifests import flags

from springtide.api.defaults.mpijob import defaulted
from springtide.api.validation import mpijob as validation
from springtide.manifests.parts.objects import Obj
from springtide.manifests.parts.resources import GPU, TOPOLOGY_GPU
from springtide.manifests.rendering import render
from springtide.manifests.submissions.submission import MpiJob

CASES: Final = flags.submissions(MpiJob)
DIFFERENCES: Final = {
    r"\w+ metadata\.namespace": "kubectl is told it otherwise",
    r"MPIJob spec\.runPolicy\.suspend": "--queue: no operator but kube-queue's own knows Arena's annotation",
    r"MPIJob .*Worker.*\.resources\.\w+\.amd\.com/gpu": "quantities are texts; Arena writes numbers as numbers",
    r"MPIJob .*Launcher.*\.master-pod-name": "names the chief's pod, as for all other types",
    r"Service metadata\.labels\.createdBy": "TensorBoard's objects have the labels of the job's other objects",
    r"Deployment .*\.matchExpressions": "the first worker has the labels of kubeflow.org/v1",
    r"Deployment .*\.podAffinity\.\w+": "TensorBoard need not be beside a worker whose node does not hold the logs",
    r"Deployment .*\.tolerations": "TensorBoard tolerates what the job does, as for all other types",
}
"""By object and path, with the reason."""


def as_v1(job: Obj) -> Obj:
    """Arena's job in the version that is served: one template becomes two, for the launcher, which runs the command
    without the workers' resources and their gang, and for the workers, which run nothing of their own."""
    spec = job["spec"]
    launcher, worker = deepcopy(spec["template"]), deepcopy(spec["template"])
    _only_container(launcher).pop("resources", None)
    _only_container(worker).pop("command")
    for template in (launcher, worker):
        del template["spec"]["restartPolicy"]
    for label in [
        label for label in launcher["metadata"]["labels"] if label.startswith(("pod-group.", "gpu-topology"))
    ]:
        del launcher["metadata"]["labels"][label]
    if not spec["mountsOnLauncher"]:
        _unmount_claims(launcher)
    gpus = next((amount for name, amount in _limits(worker).items() if name in (GPU, TOPOLOGY_GPU)), 1)
    return {
        **job,
        "apiVersion": "kubeflow.org/v1",
        "spec": {
            "slotsPerWorker": int(gpus),
            "runPolicy": {"cleanPodPolicy": spec["cleanPodPolicy"], "backoffLimit": spec["backoffLimit"]},
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "restartPolicy": "Never", "template": launcher},
                "Worker": {"replicas": spec["replicas"], "restartPolicy": "Never", "template": worker},
            },
        },
    }


def _only_container(template: Obj) -> Obj:
    (container,) = template["spec"]["containers"]
    found: Obj = container
    return found


def _limits(template: Obj) -> dict[str, Any]:
    found: dict[str, Any] = _only_container(template).get("resources", {}).get("limits", {})
    return found


def _unmount_claims(template: Obj) -> None:
    """`--data` is mounted in the launcher only where it is asked for."""
    container, volumes = _only_container(template), template["spec"].pop("volumes", [])
    claims = {volume["name"] for volume in volumes if "persistentVolumeClaim" in volume}
    template["spec"]["volumes"] = [volume for volume in volumes if volume["name"] not in claims]
    mounts = container.pop("volumeMounts", [])
    container["volumeMounts"] = [mount for mount in mounts if mount["name"] not in claims]


def differing(name: str) -> list[str]:
    *beside, job = flags.rendered("mpijob", name)
    return flags.differing_objects(render(CASES[name]), [*beside, as_v1(job)])


@pytest.mark.parametrize("name", CASES)
def test_a_job_differs_from_arenas_only_as_listed(name: str) -> None:
    assert [path for path in differing(name) if not any(re.fullmatch(pattern, path) for pattern in DIFFERENCES)] == []


@pytest.mark.parametrize("pattern", DIFFERENCES)
def test_each_listed_difference_exists(pattern: str) -> None:
    assert any(re.fullmatch(pattern, path) for name in CASES for path in differing(name))


def test_each_recorded_command_line_is_tested() -> None:
    assert sorted(CASES) == sorted(flags.recorded("mpijob"))


@pytest.mark.parametrize("name", CASES)
def test_validation_accepts_the_job(name: str) -> None:
    assert validation.admission_errors(render(CASES[name])[-1]) == []


def test_a_failed_launcher_is_retried_as_often_as_asked() -> None:
    assert defaulted(render(CASES["retry"])[-1]).run.retries.by_engine == 3
    assert defaulted(render(CASES["defaults"])[-1]).run.retries.by_engine == 0
