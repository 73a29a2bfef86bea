# SPDX-License-Identifier: Apache-2.0
"""`restartPolicy` of the launcher: with Never a job fails whose launcher was deleted. Otherwise it is created again.

A launcher that was evicted, drained or moved with its node was not deleted by a user and is created again.
"""

from __future__ import annotations

from springtide.api.kinds.replicas import RestartPolicy
from springtide.jobs.endings import causes
from springtide.jobs.launchers import launching
from springtide.jobs.snapshot import Snapshot


def deleted(snapshot: Snapshot) -> str:
    """Why the job has failed with the deletion of its launcher; empty if it has not."""
    policy, pod, ledger = snapshot.shape.launcher_restarts, launching.served(snapshot), snapshot.ledger
    if policy is not RestartPolicy.NEVER or not launching.run_over(snapshot):
        return ""
    if ledger.serves in (ledger.relocated, ledger.retired):
        return ""  # by the operator
    if pod is not None and (not pod.terminating or pod.disruption or causes.lost(pod)):
        return ""
    name = snapshot.shape.launcher_name
    return f"launcher {name} was deleted and is not created again (launcher.restartPolicy {policy})"
