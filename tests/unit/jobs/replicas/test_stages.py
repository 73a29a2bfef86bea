# SPDX-License-Identifier: Apache-2.0
"""One table says what comes next for a worker, whether the job grows or shrinks."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from tests.unit.jobs.builders import elastic, running

from springtide.jobs import snapshot
from springtide.jobs.actions import Create
from springtide.jobs.launchers import launching
from springtide.jobs.observed import Pod
from springtide.jobs.replicas import resizing, stages
from springtide.jobs.replicas.stages import TABLE, Stage, Step, stage


def test_the_table_knows_every_stage_but_that_a_worker_that_drains_comes_back() -> None:
    assert set(product(Stage, (True, False))) - TABLE.keys() == {(Stage.DRAINING, True)}


POD = Pod("pi-worker-0", "uid", "Worker", 0, phase="Running", ready=True)
STAGES = {
    "no pod": (None, False, False, Stage.PLANNED),
    "no pod, and listed all the same": (None, True, False, Stage.PLANNED),
    "a pod that is not ready": (replace(POD, ready=False), False, False, Stage.STARTING),
    "a pod that has failed": (replace(POD, phase="Failed"), False, False, Stage.STARTING),
    "a pod that is ready": (POD, False, False, Stage.READY),
    "a host": (POD, True, False, Stage.LISTED),
    "a host that is not ready": (replace(POD, ready=False), True, False, Stage.UNREADY),
    "a host that is being deleted": (replace(POD, terminating=True), True, False, Stage.UNREADY),
    "it has left the list": (POD, False, True, Stage.DRAINING),
    "it is being deleted": (replace(POD, terminating=True), False, True, Stage.ENDING),
}


@pytest.mark.parametrize(("pod", "listed", "draining", "found"), STAGES.values(), ids=STAGES)
def test_a_stage_is_read_off_the_ledger_and_the_pod(
    pod: Pod | None, listed: bool, draining: bool, found: Stage
) -> None:
    assert stage(pod, listed=listed, draining=draining) is found


def seen(workers: int = 3) -> snapshot.Snapshot:
    cluster = running(elastic(workers))
    return snapshot.read(cluster.observe(), cluster.kind, cluster.now)


def test_growth_follows_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = running(elastic(2))
    found = snapshot.read(cluster.observe(), cluster.kind, cluster.now)
    cluster.resize(3)
    assert [each for each in cluster.plan().actions if isinstance(each, Create)]
    assert launching.able(found) == (0, 1)
    monkeypatch.setattr(stages, "TABLE", {**TABLE, (Stage.PLANNED, True): Step.WAIT, (Stage.LISTED, True): Step.WAIT})
    assert not [each for each in cluster.plan().actions if isinstance(each, Create)]
    assert launching.able(found) == ()


def test_shrinking_follows_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    found = seen()
    assert set(resizing.without(found, (2,)).draining) == {2}
    monkeypatch.setattr(stages, "TABLE", {**TABLE, (Stage.LISTED, False): Step.DELETE})
    assert not resizing.without(found, (2,)).draining
