# SPDX-License-Identifier: Apache-2.0
"""Where the logs of TensorBoard are, and where it runs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.manifests import flags

from springtide.manifests.parts.objects import Obj
from springtide.manifests.parts.values import common
from springtide.manifests.rendering import kept_beside, render
from springtide.manifests.submissions.submission import Claim, PyTorchJob, TensorBoard
from springtide.views import tensorboards

HOST = "/arena_logs/training1"


def rendered(directory: str, host: str, *claims: Claim) -> dict[str, Obj]:
    base = flags.submissions(PyTorchJob)["defaults"]
    fields = {name: getattr(base, name) for name in ("name", "namespace", "command", "user", "image", "workers")}
    board = TensorBoard(log_directory=directory, host_directory=host)
    return {each["kind"]: each for each in render(PyTorchJob(**fields, claims=claims, tensorboard=board))}


def pod_of(objects: dict[str, Obj]) -> Any:
    return objects["Deployment"]["spec"]["template"]["spec"]


def trained(objects: dict[str, Obj]) -> Any:
    return objects["PyTorchJob"]["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]


def test_without_a_directory_of_the_host_the_job_has_a_claim_that_is_deleted_with_it() -> None:
    objects = rendered("/training_logs", "")
    claim = objects["PersistentVolumeClaim"]["metadata"]["name"]
    assert claim == "mnist-training-logs"
    for spec in (pod_of(objects), trained(objects)):
        assert spec["volumes"][0]["persistentVolumeClaim"] == {"claimName": claim}
    assert trained(objects)["containers"][0]["volumeMounts"][0]["mountPath"] == "/training_logs"
    assert pod_of(objects)["containers"][0]["volumeMounts"][0]["mountPath"] == "/output/training_logs"


@pytest.mark.parametrize("directory", ["/data", "/data/", "/data/logs"])
def test_logs_below_a_claim_need_no_volume(directory: str) -> None:
    objects = rendered(directory, HOST, Claim(name="set", path="/data"))
    assert "PersistentVolumeClaim" not in objects
    assert [volume["name"] for volume in pod_of(objects)["volumes"]] == ["set"]
    assert pod_of(objects)["containers"][0]["command"][2] == directory


def test_a_directory_whose_name_only_begins_like_that_of_a_claim_is_not_below_it() -> None:
    objects = rendered("/data-logs", HOST, Claim(name="set", path="/data"))
    assert pod_of(objects)["volumes"] == [{"name": "training-logs-volume", "hostPath": {"path": HOST}}]


def test_tensorboard_has_to_be_beside_the_master_only_for_logs_on_its_node() -> None:
    required, preferred = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))
    assert list(pod_of(rendered("/training_logs", HOST))["affinity"]["podAffinity"]) == [required]
    for directory in ("/data", "s3://bucket/logs"):
        objects = rendered(directory, HOST, Claim(name="set", path="/data"))
        assert list(pod_of(objects)["affinity"]["podAffinity"]) == [preferred]


def test_its_objects_and_pods_are_found_by_one_selector() -> None:
    objects = rendered("/training_logs", "")
    wanted = dict(pair.split("=") for pair in tensorboards.selector("mnist").split(","))
    labels = [objects[kind]["metadata"]["labels"] for kind in ("Deployment", "Service", "PersistentVolumeClaim")]
    for found in (*labels, objects["Deployment"]["spec"]["template"]["metadata"]["labels"]):
        assert wanted.items() <= found.items()
    port = objects["Service"]["spec"]["ports"][0]["targetPort"]
    assert port == tensorboards.PORT == pod_of(objects)["containers"][0]["ports"][0]["containerPort"]


@pytest.mark.parametrize("name", ["tensorboard", "tensorboard-claim", "tensorboard-elsewhere"])
def test_the_values_say_where_the_logs_are(name: str) -> None:
    submission = flags.submissions(PyTorchJob)[name]
    objects = render(submission)
    values = common(submission, objects[-1])
    assert values["isLocalLogging"] == (name == "tensorboard")
    assert bool(values["hostLogPath"]) == (name == "tensorboard")
    assert "service/mnist-tensorboard" in kept_beside(submission, objects)["data"]["app"]
