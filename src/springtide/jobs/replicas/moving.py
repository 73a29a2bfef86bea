# SPDX-License-Identifier: Apache-2.0
"""Workers on nodes that are going away are moved before their nodes go.

Newcomers come first, and a worker leaves the host list in the very write in which its successor enters it: the list
never gets longer or shorter than the size, and ranks are started anew once, not twice. For that time there are more
pods than the size says, but never more hosts.

A cordon moves nobody. A node that says when it goes is left in time for a drain, even if no successor is ready, as long
as somebody stays to go on from: a host that is left is forgotten, one that dies is shunned for ever. Others evict their
pods, which are replaced at once and count as moved. A launcher that is not elastic is left alone while it runs: to move
its workers would be to abort it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from springtide.jobs.actions import Decision
from springtide.jobs.launchers import launching
from springtide.jobs.ledger import Ledger
from springtide.jobs.replicas import resizing
from springtide.jobs.snapshot import Snapshot

MARGIN: Final = timedelta(seconds=5)
"""Beyond the time of a drain, for the news to get around."""


def noticed(snapshot: Snapshot) -> tuple[Ledger, list[Decision]]:
    """What is known of nodes that go away. Indices given later are not moved: whoever is placed there all the same was
    placed there knowingly, and would be moved for ever."""
    ledger = snapshot.ledger
    if snapshot.shape.keeps_names or (snapshot.launcher_runs and not snapshot.sizes.elastic):
        return ledger, []
    there: dict[str, list[int]] = {node: [] for node in sorted(snapshot.observed.leaving_nodes)}
    for index in snapshot.ledger.members:
        pod = snapshot.workers.get(index)
        if pod is not None and pod.alive and pod.node in there:
            there[pod.node].append(index)
    known = {node: ledger.notices.get(node, ledger.next_index) for node, indices in there.items() if indices}
    why = [_said(snapshot, node, there[node]) for node in known if node not in ledger.notices]
    return (ledger if known == ledger.notices else replace(ledger, notices=known)), why


def _said(snapshot: Snapshot, node: str, indices: list[int]) -> Decision:
    names = snapshot.worker_names(indices)
    return Decision(snapshot.now, "NodeLeaving", f"Node {node} is going away; others take the place of {names}")


def leavers(snapshot: Snapshot) -> tuple[int, ...]:
    """Members that are to be replaced."""
    return tuple(index for index in snapshot.ledger.members if index < _first_kept(snapshot, index))


def _first_kept(snapshot: Snapshot, index: int) -> int:
    pod = snapshot.workers.get(index)
    return snapshot.ledger.notices.get(pod.node, 0) if pod is not None else 0


def gone(snapshot: Snapshot) -> tuple[int, ...]:
    """Members that may go now: those that serve nobody, those whose place is taken, those whose time is up."""
    going = leavers(snapshot)
    if not going:
        return ()
    able = launching.able(snapshot)
    idle = tuple(index for index in going if index not in able)
    surplus = max(len(able) - snapshot.wanted_size, 0)
    first = [index for index in resizing.ranked(snapshot, able) if _goes_first(snapshot, index, going)]
    relieved = tuple(first[:surplus])
    return (*idle, *relieved, *_overdue(snapshot, able, relieved))


def _goes_first(snapshot: Snapshot, index: int, going: tuple[int, ...]) -> bool:
    return index in going or resizing.pointed_at(snapshot, index)


def _overdue(snapshot: Snapshot, able: tuple[int, ...], relieved: tuple[int, ...]) -> tuple[int, ...]:
    """Who must leave the list now, unless nobody would be left to go on from."""
    serving = [index for index in able if index not in relieved]
    late = [index for index in leavers(snapshot) if index in serving and left(snapshot, index) <= timedelta(0)]
    return tuple(late) if len(late) < len(serving) else ()


def left(snapshot: Snapshot, index: int) -> timedelta:
    """How long a worker may still serve, if its node says when it goes."""
    pod = snapshot.workers.get(index)
    at = snapshot.observed.reclaims.get(pod.node) if pod is not None else None
    if at is None:
        return timedelta.max
    return max(at - resizing.drain_time(snapshot) - MARGIN - snapshot.now, timedelta(0))
