# SPDX-License-Identifier: Apache-2.0
"""Long selectors are parsed once, and many of them do not hold up the event loop."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec
import pytest

from springtide.kube.client import Client
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.resources import PODDISRUPTIONBUDGETS, PODS, Key, Obj
from springtide.local.controller_manager.batch.jobs import Jobs
from springtide.local.controller_manager.selection import ownership
from springtide.local.controller_manager.selection.selectors import Labelled, Selectors
from springtide.local.controller_manager.workloads.deployments import Deployments
from springtide.local.controller_manager.workloads.disruption_budgets import DisruptionBudgets
from springtide.local.controller_manager.workloads.replica_sets import ReplicaSets
from springtide.local.kinds import label_selectors

NO_CLIENT = cast(Client, None)
"""Nothing here asks the server for anything."""
TERMS = 2_000
BUDGETS = 400
"""Together more than any bound on the bytes of kept selectors."""


def budget(number: int, terms: int = TERMS, **status: Any) -> Obj:
    excluded = [{"key": f"{number}-{term}", "operator": "DoesNotExist"} for term in range(terms)]
    metadata = {"namespace": "n", "name": f"b{number}", "uid": f"u{number}", "generation": 1}
    return {"metadata": metadata, "spec": {"selector": {"matchExpressions": excluded}}, "status": status}


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[Obj | None]:
    """Every selector that is parsed from now on."""
    seen: list[Obj | None] = []

    def counting(selector: Obj | None) -> label_selectors.Selector:
        seen.append(selector)
        return label_selectors.from_object(selector)

    monkeypatch.setattr(ownership, "from_object", counting)
    return seen


async def test_selectors_are_parsed_once_for_as_long_as_they_say_the_same(parses: list[Obj | None]) -> None:
    informer = Informers(NO_CLIENT).of(PODDISRUPTIONBUDGETS)
    selectors = Selectors(informer)
    for number in range(3):
        await informer._fill(
            {Key("n", f"b{i}"): (f"{number}", budget(i, seen=number)) for i in range(BUDGETS // 20)}, "9"
        )
        found = await selectors.selecting(Labelled.of("n", {"1-1": "x"}))
        assert sorted(found) == sorted(Key("n", f"b{i}") for i in range(BUDGETS // 20) if i != 1)
    assert len(parses) == BUDGETS // 20
    await informer._fill({Key("n", "b1"): ("8", budget(1, terms=1))}, "9")
    assert await selectors.selecting(Labelled.of("n", {"1-1": "x"})) == [Key("n", "b1")]
    assert selectors._parsed.keys() == {Key("n", "b1")}


async def test_nothing_is_queued_for_labels_that_no_selector_can_match() -> None:
    informer = Informers(NO_CLIENT).of(PODDISRUPTIONBUDGETS)
    selectors = Selectors(informer)
    assert selectors.lookups("n", {"a": "b"}) == []
    wanted = {"metadata": {"namespace": "n", "name": "b"}, "spec": {"selector": {"matchLabels": {"a": "b"}}}}
    informer.put(Key("n", "b"), "1", wanted)
    assert selectors.lookups("n", {"a": "b", "c": "d"}) == [Labelled.of("n", {"a": "b", "c": "d"})]
    assert (
        selectors.lookups("n", {"a": "c"}) == selectors.lookups("n", None) == selectors.lookups("m", {"a": "b"}) == []
    )
    many = {f"{number}": "x" for number in range(1000)}
    assert selectors.lookups("n", many) == [Labelled.of("n", many)]  # too many to look up at once
    informer.put(Key("n", "c"), "2", budget(1, terms=1))  # needs no label
    assert selectors.lookups("n", None) == [Labelled.of("n", {})]


async def test_a_change_of_a_pod_parses_no_selector_before_the_loop_has_had_its_turn(
    parses: list[Obj | None],
) -> None:
    informers = Informers(NO_CLIENT)
    budgets = DisruptionBudgets(informers, NO_CLIENT, cast(EventRecorder, None))
    found = {Key("n", f"b{i}"): ("1", budget(i, terms=400)) for i in range(BUDGETS)}
    await informers.of(PODDISRUPTIONBUDGETS)._fill(found, "1")
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    pods = budgets._pods
    pod = pods._decoder(msgspec.json.encode({"metadata": {"namespace": "n", "name": "p", "labels": {"a": "b"}}}))
    assert pod is not None
    assert pods.resource is PODS
    pods._notify(pods.put(pod.key, "1", pod.object))
    assert not parses
    counting = asyncio.create_task(count_turns())
    await budgets.reconcile(Labelled.of("n", {"a": "b"}))
    counting.cancel()
    assert len(parses) == BUDGETS
    assert turns > 10
    await budgets.reconcile(Labelled.of("n", {"a": "c"}))
    assert len(parses) == BUDGETS


@pytest.mark.parametrize(
    ("kind", "cache", "owned"),
    [(Jobs, "_jobs", "_pods"), (ReplicaSets, "_sets", "_pods"), (Deployments, "_deployments", "_sets")],
)
async def test_workloads_parse_their_selectors_once(
    kind: Any, cache: str, owned: str, parses: list[Obj | None]
) -> None:
    controller = kind(Informers(NO_CLIENT), NO_CLIENT, cast(EventRecorder, None))
    await getattr(controller, cache)._fill({Key("n", f"b{i}"): ("1", budget(i)) for i in range(3)}, "1")
    informer = getattr(controller, owned)
    for number in range(3):
        obj = {"metadata": {"namespace": "n", "name": f"p{number}", "labels": {"a": f"{number}"}}}
        decoded = informer._decoder(msgspec.json.encode(obj))
        informer._notify(informer.put(decoded.key, "1", decoded.object))
        assert len(parses) == (3 if number else 0)
        await controller.reconcile(Labelled.of("n", {"a": f"{number}"}))
    assert len(parses) == 3
