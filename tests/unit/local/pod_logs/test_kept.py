# SPDX-License-Identifier: Apache-2.0
"""What is on disk of removed pods: names of directories, cards, and what does not belong there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from springtide.local.pod_logs import kept
from springtide.local.pod_logs.kept import Pod

UID = "4f2f1f4e-9c7e-4c1a-9d9e-0123456789ab"


def a_pod(labels: dict[str, str], **metadata: Any) -> dict[str, Any]:
    about = {"namespace": "team", "name": "mnist-worker-0", "uid": UID, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": about | {"labels": labels} | metadata}


@pytest.mark.parametrize(
    "label", ["training.kubeflow.org/job-name", "training-job-name", "mpi-job-name", "mpi_job_name"]
)
def test_a_pod_of_a_training_job_is_known_by_its_labels(label: str) -> None:
    found = kept.pod_of(a_pod({label: "mnist", "other": "x"}), "node-a")
    assert found == Pod(
        "team", "mnist-worker-0", UID, "mnist", "node-a", "2026-01-01T00:00:00Z", {label: "mnist", "other": "x"}
    )


@pytest.mark.parametrize("labels", [{}, {"app": "web"}, {"job-name": "batch"}, {"mpi-job-name": ""}])
def test_other_pods_have_no_card(labels: dict[str, str]) -> None:
    assert kept.pod_of(a_pod(labels), "node-a") is None


def test_the_controller_is_noted_and_other_owners_are_not() -> None:
    owners = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "1"},
        {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "mnist", "uid": "2", "controller": True},
    ]
    found = kept.pod_of(a_pod({"mpi-job-name": "mnist"}, ownerReferences=owners), "node-a")
    assert found is not None
    assert found.owner == {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "mnist", "uid": "2"}


def test_a_card_is_bounded_whatever_the_labels() -> None:
    labels = {f"{'x' * 60}{index}": "y" * 63 for index in range(5000)} | {"mpi-job-name": "mnist"}
    found = kept.pod_of(a_pod(labels), "node-a")
    assert found is not None
    assert found.labels["mpi-job-name"] == "mnist"
    assert sum(len(name) + len(text) for name, text in found.labels.items()) <= 8 << 10


def test_a_card_is_read_back(tmp_path: Path) -> None:
    pod = Pod("team", "w", UID, "mnist", labels={"a": "b"})
    kept.write_card(tmp_path / "logs", pod)
    assert kept.read_card(tmp_path / "logs") == pod


@pytest.mark.parametrize("data", [b"", b"[]", b'{"namespace": 1}', b"{" * 100_000, b"\xff"])
def test_a_damaged_card_is_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / kept.CARD).write_bytes(data)
    assert kept.read_card(tmp_path) is None


def test_names_of_directories_are_read_back_oldest_first(tmp_path: Path) -> None:
    long = Pod("n" * 63, "p" * 253, UID, "mnist")
    names = [kept.directory_name(long, 20, 5000), kept.directory_name(Pod("b", "c.d", UID, "j"), 10, 1)]
    for name in names:
        assert len(name) <= 255
        (tmp_path / name).mkdir()
    found = [(entry.namespace, entry.removed, entry.kib, entry.uid) for entry in kept.entries(tmp_path)]
    assert found == [("b", 10, 1, UID), ("n" * 63, 20, 5, UID)]


@pytest.mark.parametrize("name", ["lock", f".removing-{UID}", "a_b_1_2_notauid", f"a_b_x_2_{UID}", f"a_1_2_{UID}"])
def test_what_is_no_directory_of_kept_logs_is_passed_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert not kept.entries(tmp_path)
    assert not kept.entries(tmp_path / "missing")


def test_attempts_are_found_by_container(tmp_path: Path) -> None:
    for path in (
        "main/0.log",
        "main/1.log.20260101-000000.0",
        "main/1.log",
        "main/.1.log.cut",
        "init/x.log",
        "pod.json",
    ):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).touch()
    assert kept.attempts(tmp_path) == {"main": [0, 1]}
