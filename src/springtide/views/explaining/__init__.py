# SPDX-License-Identifier: Apache-2.0
"""Why a job is in its state: one sentence, the evidence, and the next command. One module per family of causes.

The first of `_STATES_FIRST` that applies is the explanation. Otherwise the first of `_CAUSES` is, and the others follow
it; without any, the job makes progress, and the first of `_PROGRESS` says which.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Final

from springtide.messages import Text, text
from springtide.views import states
from springtide.views.explaining import (
    admission,
    containers,
    control,
    crashes,
    endings,
    lost_nodes,
    progress,
    scheduling,
    sizes,
    volumes,
)
from springtide.views.explaining.evidence import Cause, Evidence, Explanation, Fact, Obj, Operator

__all__ = ["Cause", "Evidence", "Explanation", "Fact", "Obj", "Operator", "explained"]

_STATES_FIRST: Final[tuple[Callable[[Evidence], Explanation | None], ...]] = (
    control.deleted,
    control.managed_elsewhere,
    endings.succeeded,
    endings.failed,
    control.not_reconciled,
    endings.suspended,
)
_CAUSES: Final[tuple[Callable[[Evidence], Cause | None], ...]] = (
    admission.invalid,
    admission.name_taken,
    lost_nodes.silent_node,
    lost_nodes.lost_before,
    sizes.limited,
    sizes.too_few,
    admission.quota,
    admission.refused,
    volumes.claim,
    scheduling.no_nodes,
    scheduling.no_such_resource,
    scheduling.too_large,
    scheduling.not_selected,
    scheduling.tainted,
    scheduling.gang,
    scheduling.in_use,
    scheduling.otherwise_unplaced,
    volumes.mount,
    containers.image,
    containers.configuration,
    crashes.crash_loop,
    sizes.bounds,
    sizes.deferred,
)
_OF_PLACEMENT: Final = frozenset(
    {
        lost_nodes.lost_before,
        volumes.claim,
        scheduling.no_nodes,
        scheduling.no_such_resource,
        scheduling.too_large,
        scheduling.not_selected,
        scheduling.tainted,
        scheduling.gang,
        scheduling.in_use,
        scheduling.otherwise_unplaced,
    }
)
"""Of those about pods without a node the first counts."""
_PROGRESS: Final[tuple[Callable[[Evidence], Explanation | None], ...]] = (
    progress.restarting,
    progress.resizing,
    progress.created,
    progress.running,
)


def explained(evidence: Evidence) -> Explanation:
    found = _explained(evidence)
    # Users copy the command into a shell, and what it names may be anybody's: not all names are checked by servers.
    if _PLAIN.fullmatch(found.command):
        return found
    command = shlex.join(("tide", "get", "-e", "-n", evidence.namespace, "--", evidence.name))
    return found._replace(command=command)


_PLAIN: Final = re.compile(r"(?:[A-Za-z0-9_./,:=@%+ -]|'[^'\x00-\x1f\x7f]*')+")
"""Without anything that a shell does more with than to split it into words; what stands in single quotes is one."""


def _explained(evidence: Evidence) -> Explanation:
    for state in _STATES_FIRST:
        if (found := state(evidence)) is not None:
            return found
    causes = _causes(evidence)
    if causes:
        first, *others = causes
        also = [text("Also: {why}.", why=each.why) for each in others]
        return Explanation(
            first.word, _sentence(evidence, first.why), first.evidence, first.command, (*also, *_deadline(evidence))
        )
    for doing in _PROGRESS:
        if (found := doing(evidence)) is not None:
            return found._replace(also=_deadline(evidence))
    return progress.waiting(evidence)._replace(also=_deadline(evidence))


def _causes(evidence: Evidence) -> list[Cause]:
    """All that apply, in order."""
    found: list[Cause] = []
    placed = False
    for detect in _CAUSES:
        of_placement = detect in _OF_PLACEMENT
        if of_placement and placed:
            continue
        cause = detect(evidence)
        if cause is not None:
            found.append(cause)
            placed = placed or of_placement
    return found


def _deadline(evidence: Evidence) -> tuple[Text, ...]:
    found = progress.waits_for_launcher(evidence)
    return () if found is None else (found,)


def _sentence(evidence: Evidence, why: Text) -> Text:
    """The job, its state and the cause."""
    job, workers = evidence.name, str(evidence.status.get("workers") or "")
    match evidence.state:
        case states.CREATED:
            return text("Job {job} has no pods yet: {why}.", job=job, why=why)
        case states.QUEUED:
            return text("Job {job} is queued: {why}.", job=job, why=why)
        case states.STARTING:
            return text("Job {job} cannot start yet: {why}.", job=job, why=why)
        case states.RESTARTING:
            return text("Job {job} is restarting: {why}.", job=job, why=why)
        case states.SCALING_OUT:
            return text("Job {job} is scaling out and has {workers} workers: {why}.", job=job, workers=workers, why=why)
        case states.SCALING_IN:
            return text("Job {job} is scaling in and has {workers} workers: {why}.", job=job, workers=workers, why=why)
        case states.RUNNING:
            return text("Job {job} runs with {workers} workers: {why}.", job=job, workers=workers, why=why)
        case _:
            return text("Job {job} waits: {why}.", job=job, why=why)
