# SPDX-License-Identifier: Apache-2.0
"""Moves workers off nodes that are going away, before the nodes are gone.

Replacements are created first, and a worker leaves the host list in the same write in which its replacement enters it:
the length of the list never changes, and ranks are restarted once, not twice. Meanwhile there are more pods than the
size, but never more hosts.

A cordon moves no worker. Workers leave a node with an announced reclaim time early enough for a drain, even if no
replacement is ready, as long as another worker remains to continue from: Horovod forgets a host that left the list, but
excludes one that failed for good. Other nodes evict their pods, which are replaced at once and count as moved. The
workers of a launcher that is not elastic stay while it runs: moving them would abort it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from springtide.jobs.actions import Decision
from springtide.jobs.launchers import launching
from springtide.jobs.ledger import Ledger
from springtide.jobs.replicas import resizing
from springtide.jobs.scaling import newcomers
from springtide.jobs.snapshot import Snapshot

MARGIN: Final = timedelta(seconds=5)
"""Added to the drain time, for the host list to reach the launcher."""


def noticed(snapshot: Snapshot) -> tuple[Ledger, list[Decision]]:
    """The ledger with new notices of nodes that are going away. Workers with later indices are not moved: they were
    placed on such a node deliberately, and would be moved again and again."""
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
    return Decision(
        snapshot.now, "NodeLeaving", f"Node {node} is being drained or removed; replacements are created for {names}"
    )


def leavers(snapshot: Snapshot) -> tuple[int, ...]:
    """Members to be replaced."""
    members = (index for index in snapshot.ledger.members if index not in snapshot.ledger.dead)
    return tuple(index for index in members if index < _first_kept(snapshot, index))


def _first_kept(snapshot: Snapshot, index: int) -> int:
    pod = snapshot.workers.get(index)
    return snapshot.ledger.notices.get(pod.node, 0) if pod is not None else 0


def gone(snapshot: Snapshot) -> tuple[int, ...]:
    """Members that may leave now: those that serve no ranks, those whose replacement is ready, those whose time is
    up."""
    going = leavers(snapshot)
    if not going:
        return ()
    able = launching.able(snapshot)
    idle = tuple(index for index in going if index not in able)
    surplus = max(len(able) - (newcomers.hosts_wanted(snapshot) - len(snapshot.ledger.dead)), 0)
    first = [index for index in resizing.ranked(snapshot, able) if _goes_first(snapshot, index, going)]
    relieved = tuple(first[:surplus])
    return (*idle, *relieved, *_overdue(snapshot, able, relieved))


def _goes_first(snapshot: Snapshot, index: int, going: tuple[int, ...]) -> bool:
    return index in going or resizing.is_victim(snapshot, index)


def _overdue(snapshot: Snapshot, able: tuple[int, ...], relieved: tuple[int, ...]) -> tuple[int, ...]:
    """Members that must leave the host list now, unless no worker would remain to continue from."""
    serving = [index for index in able if index not in relieved]
    late = [index for index in leavers(snapshot) if index in serving and left(snapshot, index) <= timedelta(0)]
    return tuple(late) if len(late) < len(serving) else ()


def left(snapshot: Snapshot, index: int) -> timedelta:
    """How long a worker may still serve, if its node has a reclaim time."""
    pod = snapshot.workers.get(index)
    at = snapshot.observed.reclaims.get(pod.node) if pod is not None else None
    if at is None:
        return timedelta.max
    return max(at - resizing.drain_time(snapshot) - MARGIN - snapshot.now, timedelta(0))
