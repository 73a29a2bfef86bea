# SPDX-License-Identifier: Apache-2.0
"""What training loses with its launcher: the step it had reached, and where it continues."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from springtide.jobs.actions import Decision
from springtide.jobs.endings import causes
from springtide.jobs.launchers import launching
from springtide.jobs.ledger import Ledger, SetBack
from springtide.jobs.observed import Pod
from springtide.jobs.reporting import progress
from springtide.jobs.snapshot import Snapshot

REASON: Final = "TrainingSetBack"
NO_CHECKPOINT: Final = "NoCheckpoint"
NOT_REPORTED: Final = "NotReported"
KEEP_SOME: Final = "elastic.State(checkpoint=DIR) keeps checkpoints, in a directory that all workers see"


def after(snapshot: Snapshot) -> tuple[Ledger, list[Decision]]:
    """The ledger and the decision on the loss of a run that is over; the loss is kept until the next run has reached
    the same step."""
    ledger, pod = snapshot.ledger, launching.served(snapshot)
    if pod is not None and pod.started is None:
        return ledger, []  # its program never ran
    reports = snapshot.observed.last_reports
    said = progress.of(pod) if pod is not None else progress.read(reports.get(ledger.serves, ""))
    cause = _cause(pod)
    reached, kept = said.reached, said.kept
    if reached is not None and kept is not None and kept >= reached:
        message = f"The launcher {cause}; training continues from step {kept}, its last checkpoint, and loses nothing"
        return ledger, [Decision(snapshot.now, REASON, message)]
    reason, rest = _fallen_back(reached, said.has_checkpoint, kept)
    found = _furthest(ledger.set_back, SetBack(reason, f"The launcher {cause}; {rest}", reached))
    return replace(ledger, set_back=found), [Decision(snapshot.now, REASON, found.message, warning=True)]


def _furthest(before: SetBack | None, found: SetBack) -> SetBack:
    """A run that ends before it has reached the step of an earlier one does not reduce that earlier loss."""
    if before is None or before.reached is None or (found.reached is not None and found.reached >= before.reached):
        return found
    message = f"{found.message}; a run before it had come to step {before.reached}"
    return SetBack(before.reason if found.reached is None else found.reason, message, before.reached)


def _fallen_back(reached: int | None, has_checkpoint: bool, kept: int | None) -> tuple[str, str]:
    if has_checkpoint:
        start = "its last checkpoint" if kept is None else f"step {kept}, its last checkpoint"
        origin = "" if reached is None else f" from step {reached}"
        return "BackToCheckpoint", f"training falls back{origin} to {start}"
    if reached is not None:
        return NO_CHECKPOINT, (
            f"training falls back from step {reached} to its start, because no checkpoint was reported; {KEEP_SOME}"
        )
    return NOT_REPORTED, (
        "neither how far training had come nor a checkpoint was reported: it starts over, unless the program finds "
        f"checkpoints of its own; {KEEP_SOME}"
    )


def _cause(pod: Pod | None) -> str:
    if pod is None:
        return "is gone"
    if causes.lost(pod) or causes.shut_down(pod):
        return causes.worker(pod)
    if causes.evicted(pod):
        return "was evicted"
    if pod.terminating:
        return "was deleted"
    return f"exited with code {pod.exit.code}" if pod.exit is not None and pod.exit.code is not None else "ended"


def made_good(snapshot: Snapshot) -> Ledger:
    """The ledger without the loss once the next run has reached the same step, or runs at all if the step is not
    known."""
    ledger = snapshot.ledger
    if ledger.set_back is None or not snapshot.launcher_runs:
        return ledger
    reached, now = ledger.set_back.reached, progress.of(snapshot.launcher).reached
    if reached is not None and (now is None or now < reached):
        return ledger
    return replace(ledger, set_back=None)
