# SPDX-License-Identifier: Apache-2.0
"""Adds up the rounds of a campaign: `python -m tests.crash_jobs.report FILE` prints a table for the docs."""

from __future__ import annotations

import sys
from pathlib import Path

from tests import campaigns

ACTS = {
    "operator": "kills of the operator",
    "server": "of the server",
    "agent": "of a node agent",
    "supervisor": "of the supervisor",
    "kill a worker": "of a worker's program",
    "kill a worker's shim": "of a worker's shim",
    "kill the launcher": "of the program of a launcher, master or parameter server",
    "delete a worker": "workers deleted",
    "finish a worker": "workers that ended before the others",
    "delete the launcher": "launchers, masters and parameter servers deleted",
    "resize": "sizes changed, within bounds and beyond",
    "scale": "the same by the scale subresource",
    "scale out": "ScaleOuts of TrainingJobs",
    "scale in": "ScaleIns",
    "cancel a scaler": "of these deleted before their end",
    "point at a victim": "victims pointed at",
    "suspend": "jobs suspended",
    "recreate": "jobs deleted and created again at once",
    "cordon": "nodes cordoned",
    "drain": "drained",
    "reclaim": "reclaimed",
    "tide down": "stops of the cluster by `tide down`, and starts",
}
COUNTS = {
    "launchers": "launchers and replicas that ran",
    "lists": "host lists that they saw",
    "answers": "answers of hosts",
    "met": "replicas that found the first one by its name",
    "late": "hosts over SSH whose names came a moment after they were listed",
    "states": "states of objects judged",
}
OUTCOMES = {
    "Succeeded": "jobs that succeeded",
    "Failed": "jobs that failed, rightly: their launcher or a replica was killed and had no other try",
}


def table(path: Path) -> str:
    rounds = campaigns.read(path)
    of_user = sum(entry["user"] == "user" for entry in rounds)
    rows = [
        *campaigns.counted(rounds, ACTS, "acts"),
        *campaigns.counted(rounds, COUNTS),
        *campaigns.counted(rounds, OUTCOMES, "outcomes"),
        campaigns.lasted("until all jobs were as wanted", [entry["settling"] for entry in rounds]),
    ]
    return campaigns.table(rounds, rows, f"{of_user} of them as an ordinary user")


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
