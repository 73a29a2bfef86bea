# SPDX-License-Identifier: Apache-2.0
"""Between which sizes an MPIJob runs, and the fewest workers that its launcher starts with."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from tests import documents
from tests.unit.api.builders import a_template, an_mpijob

from springtide.api.bounds import Bounds
from springtide.api.defaults.mpijob import bounds_of, defaulted, launch, start_size_of

POLICY, LINE = "spec.elasticPolicy", "the launcher's command line"
ELASTIC = ("horovodrun", "-np", "4", "--min-np", "2", "--max-np", "8", "python", "x")
TIDE = ("tiderun", *ELASTIC[1:])
WITH_INTERFACE = ("horovodrun", "--network-interface", "eth0", *ELASTIC[1:])
GPU = {"resources": {"limits": {"nvidia.com/gpu": 1}}}


@pytest.mark.parametrize(
    ("job", "found", "start"),
    [
        (an_mpijob(), None, None),
        (an_mpijob(command=("python", "x")), None, None),
        (an_mpijob(command=ELASTIC), Bounds(2, 8, LINE), 4),
        (an_mpijob(command=ELASTIC, slotsPerWorker=4), Bounds(1, 2, LINE), 2),
        (an_mpijob(command=WITH_INTERFACE, slotsPerWorker=4), Bounds(1, 2, LINE), 1),
        (an_mpijob("v2beta1", command=ELASTIC, slotsPerWorker=0), Bounds(2, 8, LINE), 4),
        (an_mpijob("v2beta1", command=ELASTIC, runLauncherAsWorker=True), Bounds(1, 7, LINE), 3),
        (an_mpijob("v2beta1", command=ELASTIC, slotsPerWorker=4, runLauncherAsWorker=True), Bounds(1, 1, LINE), 1),
        (an_mpijob(launcher={"template": a_template(*ELASTIC, **GPU)}), Bounds(1, 7, LINE), 3),
        (an_mpijob("v2beta1", launcher={"template": a_template(*ELASTIC, **GPU)}), Bounds(2, 8, LINE), 4),
        (an_mpijob(elasticPolicy={"minReplicas": 1, "maxReplicas": 2}), Bounds(1, 2, POLICY), None),
        (an_mpijob(command=("horovodrun", "--min-np", "3", "x")), Bounds(3, None, LINE), 3),
        (an_mpijob(command=("horovodrun", "--host-discovery-script", "d", "x")), Bounds(1, None, LINE), 2),
        (an_mpijob(command=TIDE), Bounds(2, 8, LINE), 2),
        (an_mpijob(command=("tiderun", "-np", "3", "--host-discovery-script", "d", "x")), Bounds(3, None, LINE), 3),
    ],
)
def test_a_job_has_bounds_and_a_start_size(job: dict[str, Any], found: Bounds | None, start: int | None) -> None:
    assert bounds_of(defaulted(job), launch(defaulted(job))) == found
    least = start_size_of(defaulted(job), launch(defaulted(job)))
    assert (least.workers if least else None) == start


def test_the_documents_job_has_between_one_and_three_workers() -> None:
    job = defaulted(yaml.safe_load((documents.MANIFESTS / "tensorflow-mnist-elastic.yaml").read_text()))
    assert bounds_of(job, launch(job)) == Bounds(1, 3, LINE)
    least = start_size_of(job, launch(job))
    assert least is not None
    assert least.workers == 2


REFUSALS = {
    "horovodrun waits for -np": (
        an_mpijob(command=WITH_INTERFACE),
        "1 worker is requested, but the launcher cannot start with fewer than 4: horovodrun -np 4 waits for 4 slots, "
        "and a worker has 1; ask for 4 workers or lower -np, or use tiderun, which starts with --min-np",
    ),
    "horovodrun wants two hosts": (
        an_mpijob(command=ELASTIC, slotsPerWorker=4),
        "1 worker is requested, but the launcher cannot start with fewer than 2: horovodrun needs two hosts to find "
        "out which network interface they share; ask for 2 workers or name the interface with --network-interface",
    ),
    "tiderun waits for --min-np": (
        an_mpijob(command=TIDE),
        "1 worker is requested, but the launcher cannot start with fewer than 2: tiderun --min-np 2 waits for 2 slots, "
        "and a worker has 1; ask for 2 workers or lower --min-np",
    ),
}


@pytest.mark.parametrize(("job", "said"), REFUSALS.values(), ids=REFUSALS)
def test_too_few_to_start_with_are_told_why_and_what_to_do(job: dict[str, Any], said: str) -> None:
    least = start_size_of(defaulted(job), launch(defaulted(job)))
    assert least is not None
    assert least.refusal(1) == said
