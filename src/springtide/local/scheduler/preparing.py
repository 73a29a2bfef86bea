# SPDX-License-Identifier: Apache-2.0
"""Evaluates constraints of many terms before the scheduler decides, so that decisions do not block the event loop.

A decision is one synchronous step, and the server of an embedded cluster shares its event loop. A pod may have tens of
thousands of terms about nodes and other pods. Here they are evaluated for one node or pod after the other, with yields
to the event loop, and long selectors are parsed in a thread. The results are remembered where the filters, the scores
and preemption look them up. What changes meanwhile is evaluated by these themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from springtide.event_loop.long_work import in_thread
from springtide.event_loop.slices import Slices
from springtide.kube.resources import Key, Obj
from springtide.local.kinds.label_selectors import Selector
from springtide.local.scheduler.state import requirements
from springtide.local.scheduler.state.long_selectors import LongSelectors
from springtide.local.scheduler.state.pods import Pod
from springtide.local.scheduler.state.snapshot import Snapshot


async def prepare(pods: Sequence[Pod], snapshot: Snapshot) -> None:
    """For pods that are to be placed."""
    await _parse_selectors(pods, snapshot)
    slices = Slices()
    for pod in pods:
        if pod.wishes.many_about_nodes:
            await _about_nodes(pod, snapshot, slices)
        others = [*snapshot.pods, *pods] if pod.wishes.many_about_pods else snapshot.with_many_terms
        await _about_pods(pod, others, snapshot, slices)


async def _parse_selectors(pods: Iterable[Pod], snapshot: Snapshot) -> None:
    claims = snapshot.storage.claims
    keys = {Key(pod.key.namespace, claim.name) for pod in pods for claim in pod.claims}
    wanted = [(key, claims[key].spec.selector) for key in keys if key in claims]
    await _parse(snapshot.storage.selectors, wanted)
    await _parse(snapshot.budget_selectors, [(key, each.spec.selector) for key, each in snapshot.budgets.items()])


async def _parse(known: LongSelectors, wanted: Iterable[tuple[Key, Obj | None]]) -> None:
    for key, written in wanted:
        if known.lacks(key, written):
            known.keep(key, written, await in_thread(_parsed, written))


def _parsed(written: Obj | None) -> Selector:
    return requirements.selector(written).prepare()


async def _about_nodes(pod: Pod, snapshot: Snapshot, slices: Slices) -> None:
    for state in list(snapshot.nodes):
        pod.wishes.nodes.matches(state.node.name, state.node.labels)
        pod.wishes.preferred_nodes.weight(state.node.name, state.node.labels)
        await slices.next()


async def _about_pods(pod: Pod, others: Iterable[Pod], snapshot: Snapshot, slices: Slices) -> None:
    for other in others:
        for one, another in ((pod, other), (other, pod)):
            wishes = one.wishes
            for terms in (wishes.near, wishes.apart, wishes.rather_near, wishes.rather_apart):
                if terms.many:
                    snapshot.matched(terms, another)
                    await slices.next()
