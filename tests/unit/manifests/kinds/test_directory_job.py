# SPDX-License-Identifier: Apache-2.0
"""The MPIJob of a directory."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.local.kubelet.specs.expansion import expand
from springtide.manifests.kinds.directory_job import COMMAND, DirectoryJob, manifest, name_of, problems

JOB = DirectoryJob(
    name="digits-x1",
    namespace="team",
    command=("python", "train.py", "--epochs", "3"),
    image="tide-run/digits:1",
    directory="/home/me/digits",
    reaches_by_api=True,
)


def pod(made: dict[str, Any], role: str) -> dict[str, Any]:
    found: dict[str, Any] = made["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]
    return found


def test_tiderun_starts_the_program_on_elastic_workers() -> None:
    made = manifest(JOB)
    assert (made["apiVersion"], made["kind"]) == ("kubeflow.org/v2beta1", "MPIJob")
    assert made["metadata"]["name"] == "digits-x1"
    assert made["metadata"]["annotations"] == {COMMAND: "python train.py --epochs 3"}
    assert made["spec"]["elasticPolicy"] == {"minReplicas": 1, "maxReplicas": 4}
    assert made["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 2
    (launcher,) = pod(made, "Launcher")["containers"]
    assert launcher["command"] == ["tiderun"]
    assert shlex.join(launcher["args"]) == (
        "-np 2 --min-np 1 --max-np 4 --host-discovery-script /etc/mpi/discover_hosts.sh python train.py --epochs 3"
    )
    assert "command" not in pod(made, "Worker")["containers"][0]


@pytest.mark.parametrize("role", ["Launcher", "Worker"])
def test_the_directory_is_the_working_directory_of_all_pods(role: str) -> None:
    found = pod(manifest(JOB), role)
    (container,) = found["containers"]
    assert container["workingDir"] == "/home/me/digits"
    assert container["volumeMounts"] == [{"name": "directory", "mountPath": "/home/me/digits"}]
    assert found["volumes"] == [{"name": "directory", "hostPath": {"path": "/home/me/digits", "type": "Directory"}}]


def test_on_another_cluster_the_program_is_in_the_image() -> None:
    made = manifest(replace(JOB, directory="", reaches_by_api=False))
    assert "launcherAttachMode" not in made["spec"]
    for role in ("Launcher", "Worker"):
        assert "volumes" not in pod(made, role)
        assert "workingDir" not in pod(made, role)["containers"][0]


def test_a_rank_for_each_gpu_and_none_in_the_launcher() -> None:
    made = manifest(replace(JOB, gpus=2, cpu="4", memory="8Gi"))
    assert made["spec"]["slotsPerWorker"] == 2
    assert pod(made, "Worker")["containers"][0]["resources"] == {
        "requests": {"cpu": "4", "memory": "8Gi"},
        "limits": {"nvidia.com/gpu": 2},
    }
    launcher = pod(made, "Launcher")["containers"][0]
    assert "resources" not in launcher
    assert launcher["args"][:6] == ["-np", "4", "--min-np", "2", "--max-np", "8"]


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1), st.text())
def test_any_command_and_variable_arrives_unchanged(words: list[str], value: str) -> None:
    made = manifest(replace(JOB, command=tuple(words), variables={"GIVEN": value}))
    (launcher,) = pod(made, "Launcher")["containers"]
    known = {"GIVEN": "x", "HOME": "/root"}
    assert [expand(word, known) for word in launcher["args"][-len(words) :]] == words
    variables = {each["name"]: each["value"] for each in launcher["env"]}
    assert expand(variables["GIVEN"], known) == value


@pytest.mark.parametrize(
    ("directory", "name"),
    [
        ("digits", "digits"),
        ("My Project (2)", "my-project-2"),
        ("2024-mnist", "run-2024-mnist"),
        ("训练", "run"),
        ("a" * 60, "a" * 40),
        ("x" * 39 + "-y", "x" * 39),
    ],
)
def test_a_job_is_named_after_its_directory(directory: str, name: str) -> None:
    assert name_of(directory) == name


@pytest.mark.parametrize(
    ("least", "workers", "most", "wrong"),
    [(1, 2, 4, ()), (2, 2, 2, ()), (3, 2, 4, ("--workers",)), (1, 5, 4, ("--max",)), (5, 3, 2, ("--workers", "--max"))],
)
def test_sizes_must_be_in_order(least: int, workers: int, most: int, wrong: tuple[str, ...]) -> None:
    assert problems(replace(JOB, min=least, workers=workers, max=most)) == wrong
