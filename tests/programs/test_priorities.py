# SPDX-License-Identifier: Apache-2.0
"""A pod with a high priority takes the place of one with a low priority, which may save its work first."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.programs.conftest import Start
from tests.programs.world import node_of

pytestmark = pytest.mark.timeout(300)


def test_an_urgent_pod_takes_a_patient_one_s_place(started: Start, tmp_path: Path) -> None:
    cluster = started("--node", "a=cpu:4,nvidia.com/gpu:2", "--node", "b=cpu:4,nvidia.com/gpu:2")
    cluster.apply("priorities.yaml", STATE=str(tmp_path))
    cluster.until_ready("app in (patient, small)", 2)
    cluster.until(lambda: "waiting" in cluster.logs("patient"), "the patient pod to work")
    place, other = node_of(cluster.pods()["patient"]), node_of(cluster.pods()["small"])
    assert place != other

    cluster.apply("urgent.yaml")
    cluster.until(lambda: cluster.phase("urgent") == "Running", "the urgent pod to run")
    pods = cluster.pods()
    assert set(pods) == {"small", "urgent"}
    assert node_of(pods["urgent"]) == place
    assert (tmp_path / "checkpoint").read_text() == "saved\n"
    events = cluster.get("events", "--field-selector=reason=Preempted")["items"]
    assert [event["involvedObject"]["name"] for event in events] == ["patient"]
