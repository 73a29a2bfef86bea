# SPDX-License-Identifier: Apache-2.0
"""How often constraints of many terms are evaluated: once for each pod and node, and before the decision."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.local.scheduler.things import ZONE, a_claim, a_class, a_node, a_pod, a_snapshot, a_volume

from springtide.kube.resources import Key, Obj
from springtide.local.kinds import label_selectors
from springtide.local.kinds.label_selectors import Selector
from springtide.local.scheduler import placing
from springtide.local.scheduler.preparing import prepare
from springtide.local.scheduler.reasons import Unfit
from springtide.local.scheduler.state import requirements
from springtide.local.scheduler.state.requirements import NodeTerm, PodTerm, Tolerations
from springtide.local.scheduler.state.snapshot import Snapshot
from springtide.local.scheduler.state.views import Taint, Toleration

MANY, CROWD = 200, 30
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


def about_pods(key: str) -> Obj:
    return {"topologyKey": ZONE, "labelSelector": {"matchLabels": {key: "v"}}}


TERMS = [about_pods(f"k{number}") for number in range(MANY)]
WEIGHTED = [{"weight": 1, "podAffinityTerm": term} for term in TERMS]
ABOUT_PODS: dict[str, Obj] = {
    "anti-affinity": {"podAntiAffinity": {REQUIRED: TERMS}},
    "affinity": {"podAffinity": {REQUIRED: TERMS}},
    "preferred anti-affinity": {"podAntiAffinity": {PREFERRED: WEIGHTED}},
    "preferred affinity": {"podAffinity": {PREFERRED: WEIGHTED}},
}
NODE_TERMS = [{"matchExpressions": [{"key": f"k{number}", "operator": "Exists"}]} for number in range(MANY)]
ABOUT_NODES: dict[str, Obj] = {
    "node affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": NODE_TERMS}}},
    "preferred nodes": {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": term} for term in NODE_TERMS]}},
}


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many terms were evaluated, and how many selectors parsed."""
    found: Counter[str] = Counter()

    def count(owner: Any, name: str, what: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def counted(*arguments: Any) -> Any:
            found[what] += 1
            return original(*arguments)

        monkeypatch.setattr(owner, name, counted)

    count(PodTerm, "matches", "terms")
    count(NodeTerm, "matches", "terms")
    count(label_selectors, "from_object", "selectors")
    return found


def a_crowd(kinds: int = CROWD) -> Snapshot:
    pods = [a_pod(f"p{number}", labels={"number": f"{number % kinds}"}) for number in range(CROWD)]
    nodes = [a_node(name, {"pods": "100"}, labels={ZONE: name}) for name in ("a", "b")]
    return a_snapshot(*nodes, pods={"a": pods[::2], "b": pods[1::2]})


@pytest.mark.parametrize("affinity", ABOUT_PODS.values(), ids=ABOUT_PODS)
def test_terms_are_evaluated_once_for_pods_with_the_same_labels(affinity: Obj, evaluations: Counter[str]) -> None:
    snapshot, pod = a_crowd(kinds=3), a_pod("hostile", affinity=affinity)
    for _ in range(5):
        placing.place(pod, snapshot)
    assert 0 < evaluations["terms"] <= MANY * (3 + 1)


@pytest.mark.parametrize("affinity", ABOUT_PODS.values(), ids=ABOUT_PODS)
async def test_decisions_evaluate_no_terms_about_pods_anew(affinity: Obj, evaluations: Counter[str]) -> None:
    snapshot, pod = a_crowd(), a_pod("hostile", affinity=affinity)
    await prepare([pod], snapshot)
    evaluations.clear()
    placing.place(pod, snapshot)
    assert evaluations["terms"] == 0
    snapshot.add(pod, "a")
    later = a_pod("later", labels={"number": "later"})
    await prepare([later], snapshot)
    evaluations.clear()
    placing.place(later, snapshot)
    assert evaluations["terms"] == 0


@pytest.mark.parametrize("affinity", ABOUT_NODES.values(), ids=ABOUT_NODES)
async def test_decisions_evaluate_no_terms_about_nodes_anew(affinity: Obj, evaluations: Counter[str]) -> None:
    snapshot, pod = a_crowd(), a_pod("hostile", affinity=affinity)
    await prepare([pod], snapshot)
    evaluations.clear()
    for _ in range(5):
        placing.place(pod, snapshot)
    assert evaluations["terms"] == 0


async def test_a_changed_node_is_evaluated_anew() -> None:
    snapshot, pod = a_crowd(), a_pod("hostile", affinity=ABOUT_NODES["node affinity"])
    await prepare([pod], snapshot)
    assert isinstance(placing.place(pod, snapshot), Unfit)
    snapshot.put_node(a_node("b", {"pods": "100"}, labels={ZONE: "b", "k7": ""}))
    found = placing.place(pod, snapshot)
    assert not isinstance(found, Unfit)
    assert found.name == "b"


def test_changed_labels_of_a_namespace_are_evaluated_anew() -> None:
    chosen = {"namespaceSelector": {"matchLabels": {"team": "red"}}, "labelSelector": {}}
    terms = [*TERMS, {**about_pods("x"), **chosen}]
    snapshot, pod = a_crowd(), a_pod("hostile", affinity={"podAntiAffinity": {REQUIRED: terms}})
    assert not isinstance(placing.place(pod, snapshot), Unfit)
    snapshot.namespaces["default"] = {"team": "red"}
    assert isinstance(placing.place(pod, snapshot), Unfit)


async def test_the_event_loop_turns_while_terms_are_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("springtide.event_loop.slices.SLICE", 0.0)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    snapshot, pod = a_crowd(), a_pod("hostile", affinity=ABOUT_PODS["anti-affinity"])
    counting = asyncio.create_task(count())
    await prepare([pod], snapshot)
    counting.cancel()
    assert turns >= CROWD


async def test_pods_without_many_terms_need_no_turn_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("springtide.event_loop.slices.SLICE", 0.0)
    preparing = prepare([a_pod("p", affinity={"podAntiAffinity": {REQUIRED: [about_pods("k")]}})], a_crowd())
    with pytest.raises(StopIteration):
        preparing.send(None)


def test_repeated_terms_count_once_where_they_are_required_and_together_where_they_are_preferred() -> None:
    required = requirements.required_terms({REQUIRED: [about_pods("k")] * MANY}, "default")
    assert len(required) == 1
    preferred = requirements.preferred_terms({PREFERRED: [WEIGHTED[0]] * MANY}, "default")
    assert [term.weight for term in preferred] == [MANY]


def test_repeated_constraints_of_other_kinds_count_once() -> None:
    volumes = [{"name": f"v{number}", "persistentVolumeClaim": {"claimName": "c"}} for number in range(MANY)]
    pod = a_pod(
        volumes=volumes,
        tolerations=[{"key": "k"}] * MANY,
        affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": NODE_TERMS[:1] * MANY}}},
    )
    assert (len(pod.claims), len(pod.tolerations), len(pod.wishes.nodes.terms or ())) == (1, 1, 1)


async def test_a_long_selector_of_a_claim_is_parsed_once(evaluations: Counter[str]) -> None:
    selector = {"matchLabels": {f"k{number}": "v" for number in range(MANY)}}
    snapshot = a_snapshot(a_node("a"), a_node("b"))
    snapshot.storage.classes["late"] = a_class("late", "kubernetes.io/no-provisioner")
    snapshot.storage.claims[Key("default", "data")] = a_claim(selector=selector, storageClassName="late")
    for number in range(5):
        snapshot.storage.volumes[f"v{number}"] = a_volume(f"v{number}", storageClassName="late")
    pod = a_pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    for _ in range(3):
        await prepare([pod], snapshot)
        assert isinstance(placing.place(pod, snapshot), Unfit)
    assert evaluations["selectors"] == 1


@pytest.mark.parametrize("operator", ["", "Equal", "Exists", "Lt"])
@pytest.mark.parametrize("key", ["", "k", "other"])
@pytest.mark.parametrize("effect", ["", "NoSchedule", "NoExecute"])
@pytest.mark.parametrize("value", ["", "v"])
def test_tolerations_are_looked_up_as_kubernetes_compares_them(
    operator: str, key: str, effect: str, value: str
) -> None:
    taint = Taint("k", "NoSchedule", "v")
    tolerated = (
        effect in ("", taint.effect)
        and key in ("", taint.key)
        and (operator == "Exists" or (operator in ("", "Equal") and value == taint.value))
    )
    unlike = Toleration("unlike", "Exists")
    assert Tolerations((unlike, Toleration(key, operator, value, effect))).tolerate(taint) == tolerated


def test_a_long_selector_is_indexed_when_it_is_parsed() -> None:
    selector = requirements.selector({"matchLabels": {f"k{number}": "v" for number in range(MANY)}})
    assert isinstance(selector, Selector)
    assert "_index" in vars(selector)
