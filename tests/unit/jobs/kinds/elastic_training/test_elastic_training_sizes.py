# SPDX-License-Identifier: Apache-2.0
"""Which sizes a TrainingJob may have, and whether it is resized while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest
from tests.unit.jobs.builders import elastic_training

from springtide.jobs.kind import Shape, Sizes

VARIABLES: Final = [{"name": name, "value": value} for name, value in (("workers", "3"), ("gpus", "1"))]
DOCUMENTED: Final = (
    *("sh", "-c"),
    "horovodrun -np $((${workers}*${gpus})) --min-np $((${workers}*${gpus})) --max-np $((${workers}*${gpus})) "
    "--host-discovery-script /etc/edl/discover_hosts.sh python /examples/elastic/tensorflow2_mnist_elastic.py",
)


def sizes(command: Sequence[str] = ("train",), **fields: Any) -> Sizes:
    return elastic_training(command=command, **fields).snapshot.sizes


def shape(*command: str) -> Shape:
    return elastic_training(command=command).snapshot.shape


@pytest.mark.parametrize(
    ("command", "rigid"),
    [
        (DOCUMENTED, ""),
        (("horovodrun", "-np", "2", "--host-discovery-script", "/etc/edl/discover_hosts.sh", "python"), ""),
        (("tiderun", "--min-np", "1", "python"), ""),
        (("deepspeed", "--hostfile", "/job/hostfile", "train.py"), ""),
        (("./run.sh",), ""),
        (("mpirun", "-np", "2", "train"), "mpirun is not elastic"),
        (
            ("horovodrun", "-np", "2", "python"),
            "horovodrun is not elastic without --min-np or --host-discovery-script",
        ),
    ],
    ids=["the document's", "horovodrun", "tiderun", "deepspeed", "an unknown one", "mpirun", "a rigid horovodrun"],
)
def test_a_job_is_resized_unless_its_program_is_known_not_to_follow(command: Sequence[str], rigid: str) -> None:
    found = sizes(command)
    assert (found.elastic, found.rigid) == (not rigid, rigid)


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [((2, 9), 2, 9), ((None, 9), 1, 9), ((2, None), 2, None), ((None, None), 1, None)],
)
def test_bounds_are_the_specs_and_not_the_command_lines(given: Any, least: int, most: int | None) -> None:
    worker = {name: value for name, value in zip(("minReplicas", "maxReplicas"), given, strict=True) if value}
    cluster = elastic_training(worker=worker | dict.fromkeys({"minReplicas", "maxReplicas"} - worker.keys()))
    found = cluster.snapshot.sizes.bounds
    assert found is not None
    assert (found.min, found.max) == (least, most)


def test_a_job_starts_with_all_workers() -> None:
    assert sizes(DOCUMENTED).start_size is None


@pytest.mark.parametrize(
    ("command", "least", "why"),
    [
        (("train",), 1, "spec.etReplicaSpecs.worker.minReplicas is 1"),
        (("tiderun", "--min-np", "1", "python"), 1, "spec.etReplicaSpecs.worker.minReplicas is 1"),
        (DOCUMENTED, 3, "horovodrun -np 3 waits for 3 slots, and a worker has 1"),
    ],
    ids=["the minimum", "a program that needs no more", "a program that waits for more"],
)
def test_a_job_that_asks_for_it_starts_with_its_minimum(command: Sequence[str], least: int, why: str) -> None:
    launcher = {"template": {"spec": {"containers": [{"name": "a", "command": [*command], "env": VARIABLES}]}}}
    annotations = {"springtide.dev/start-size": "min"}
    found = sizes(launcher=launcher, annotations=annotations).start_size
    assert found is not None
    assert (found.workers, found.why) == (least, why)


def test_newcomers_of_horovodrun_wait_until_it_has_settled() -> None:
    assert [sizes(command).settles for command in (DOCUMENTED, ("tiderun", "--min-np", "1", "python"))] == [True, False]


def test_tiderun_saves_when_it_is_terminated() -> None:
    assert shape("tiderun", "--min-np", "1", "python").saves
    assert not shape(*DOCUMENTED).saves


def test_workers_that_a_scaler_adds_are_labelled() -> None:
    assert elastic_training().snapshot.kind.scaler_label() == "scaleout-name"
