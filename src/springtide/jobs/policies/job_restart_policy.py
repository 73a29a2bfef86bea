# SPDX-License-Identifier: Apache-2.0
"""`restartPolicy` of the job: how often it is started again after failures that are not those of its launcher's pod.

`launchers.pod` counts failures of the pod, against the same limit.
"""

from __future__ import annotations

from dataclasses import replace

from springtide.jobs.endings import outcomes
from springtide.jobs.endings.outcomes import Outcome
from springtide.jobs.ledger import Ledger
from springtide.jobs.policies import launcher_restart_policy, worker_restart_policy
from springtide.jobs.snapshot import Snapshot


def broken(snapshot: Snapshot) -> str:
    """Why the run cannot go on; empty if it can."""
    return launcher_restart_policy.deleted(snapshot) or worker_restart_policy.too_few(snapshot)


def retried(snapshot: Snapshot) -> str:
    """The same for a job that is started again."""
    return broken(snapshot) if _is_left(snapshot) else ""


def _is_left(snapshot: Snapshot) -> bool:
    return snapshot.ledger.retries < snapshot.job.run.retries.by_engine


def failure(snapshot: Snapshot) -> Outcome | None:
    """The outcome if the job is not started again."""
    why = broken(snapshot)
    if not why or _is_left(snapshot):
        return None
    return outcomes.failure(snapshot, f"{snapshot.job.kind}Failed", f"{snapshot.title} has failed: {why}")


def counted(snapshot: Snapshot) -> Ledger:
    """The ledger with one more restart."""
    return replace(snapshot.ledger, restarts=snapshot.ledger.restarts + 1, restarted_at=snapshot.now)
