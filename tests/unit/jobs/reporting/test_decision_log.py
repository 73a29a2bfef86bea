# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from tests.unit.jobs.builders import elastic, running
from tests.unit.jobs.simulated import START

from springtide.jobs.actions import Decision
from springtide.jobs.observed import Key
from springtide.jobs.reporting import decision_log


def test_the_log_keeps_the_last() -> None:
    text = decision_log.logged({}, [Decision(START, "R", str(number)) for number in range(50)])
    lines = decision_log.log({decision_log.ANNOTATION: text})
    assert [line.message for line in lines] == [str(number) for number in range(30, 50)]


def test_a_log_that_cannot_be_read_is_empty() -> None:
    assert decision_log.log({decision_log.ANNOTATION: "{"}) == ()


def test_decisions_are_kept_with_the_host_list() -> None:
    cluster = running(elastic(2))
    cluster.resize(3)
    cluster.settle()
    annotations = cluster.objects[Key("v1", "ConfigMap", "pi-config")]["metadata"]["annotations"]
    assert [(line.reason, line.message) for line in decision_log.log(annotations)] == [("ScalingOut", "2 → 3 workers")]
