# SPDX-License-Identifier: Apache-2.0
"""Which of two nodes, when both would do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.unit.local.scheduler.things import GPU, ZONE, a_node, a_pod, a_snapshot, company, spread

from springtide.local.scheduler.placing import place
from springtide.local.scheduler.reasons import Unfit
from springtide.local.scheduler.scores import Taste
from springtide.local.scheduler.state.nodes import Node
from springtide.local.scheduler.state.pods import Pod

WEB = {"app": "web"}


def two_zones() -> tuple[Node, Node]:
    return a_node("a", labels={ZONE: "one"}), a_node("b", labels={ZONE: "two"})


@dataclass(frozen=True)
class Case:
    pod: Pod
    better: str
    nodes: tuple[Node, ...] = field(default_factory=two_zones)
    a: tuple[Pod, ...] = ()
    b: tuple[Pod, ...] = ()
    taste: Taste = Taste.SPREAD


def preferred(weight: int) -> Any:
    term = {"matchExpressions": [{"key": "fast", "operator": "Exists"}]}
    return {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "preference": term}]}
    }


SLOW = [{"key": "slow", "effect": "PreferNoSchedule"}]

CASES = {
    "the first of equals": Case(a_pod(), "a"),
    "the emptier": Case(a_pod(), "b", a=(a_pod("q", {"cpu": "1"}),)),
    "fewer pods where nothing else is left to compare": Case(
        a_pod(),
        "b",
        a=(a_pod("q", {"cpu": "9", "memory": "99Gi"}), a_pod("r")),
        b=(a_pod("s", {"cpu": "9", "memory": "99Gi"}),),
    ),
    "the one whose memory is as used as its cpu": Case(
        a_pod(wants={"cpu": "1"}),
        "a",
        a=(a_pod("q", {"cpu": "1", "memory": "4Gi"}),),
        b=(a_pod("r", {"cpu": "2", "memory": "2Gi"}),),
    ),
    "without a taint that prefers no pods": Case(
        a_pod(), "b", (a_node("a", taints=SLOW), a_node("b")), b=(a_pod("q", {"cpu": "1"}),)
    ),
    "with such a taint, if it is tolerated": Case(
        a_pod(tolerations=[{"key": "slow", "operator": "Exists"}]),
        "a",
        (a_node("a", taints=SLOW), a_node("b")),
        b=(a_pod("q", {"cpu": "1"}),),
    ),
    "the preferred one": Case(
        a_pod(affinity=preferred(5)),
        "b",
        (a_node("a"), a_node("b", labels={"fast": ""})),
        b=(a_pod("q", {"cpu": "1"}),),
    ),
    "nearer to friends": Case(
        a_pod(affinity=company("podAffinity", "web", ZONE, weight=5)), "b", b=(a_pod("q", {"cpu": "1"}, labels=WEB),)
    ),
    "further from others": Case(
        a_pod(affinity=company("podAntiAffinity", "web", ZONE, weight=5)),
        "b",
        a=(a_pod("q", labels=WEB),),
        b=(a_pod("r", {"cpu": "1"}),),
    ),
    "where somebody wants it": Case(
        a_pod(labels=WEB), "b", b=(a_pod("q", {"cpu": "1"}, affinity=company("podAffinity", "web", ZONE, weight=5)),)
    ),
    "not where somebody would rather not have it": Case(
        a_pod(labels=WEB),
        "b",
        a=(a_pod("q", affinity=company("podAntiAffinity", "web", ZONE, weight=5)),),
        b=(a_pod("r", {"cpu": "1"}),),
    ),
    "the zone with fewer of its kind": Case(
        a_pod(labels=WEB, topologySpreadConstraints=spread("web", when="ScheduleAnyway")),
        "b",
        a=(a_pod("q", labels=WEB),),
        b=(a_pod("r", {"cpu": "1"}),),
    ),
    "a node that has the label to be spread over": Case(
        a_pod(labels=WEB, topologySpreadConstraints=spread("web", when="ScheduleAnyway")),
        "b",
        (a_node("a"), a_node("b", labels={ZONE: "one"})),
        b=(a_pod("r", {"cpu": "1"}),),
    ),
    "apart from the other replicas of its owner": Case(
        a_pod(owners=["set"]), "b", a=(a_pod("q", owners=["set"]),), b=(a_pod("r", {"cpu": "1"}, owners=["another"]),)
    ),
    "the fuller, for members of a gang that did not fit otherwise": Case(
        a_pod(wants={GPU: "1"}),
        "b",
        (a_node("a", {GPU: "4"}), a_node("b", {GPU: "4"})),
        b=(a_pod("q", {GPU: "2"}),),
        taste=Taste.PACK,
    ),
}


@pytest.mark.parametrize("sentence", CASES)
def test_better(sentence: str) -> None:
    case = CASES[sentence]
    snapshot = a_snapshot(*case.nodes, pods={"a": case.a, "b": case.b}, strict=False)
    found = place(case.pod, snapshot, case.taste)
    assert not isinstance(found, Unfit)
    assert found.node.name == case.better


def test_replicas_go_round() -> None:
    snapshot = a_snapshot(a_node("a"), a_node("b"), a_node("c"), strict=False)
    went = []
    for number in range(6):
        pod = a_pod(f"p{number}", owners=["set"])
        found = place(pod, snapshot)
        assert not isinstance(found, Unfit)
        snapshot.add(pod, found.node.name)
        went.append(found.node.name)
    assert went == ["a", "b", "c", "a", "b", "c"]
