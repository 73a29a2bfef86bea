# SPDX-License-Identifier: Apache-2.0
"""Adds up the rounds of a campaign: `python -m tests.crash_pods.report FILE` prints a table for the docs."""

from __future__ import annotations

import sys
from pathlib import Path

from tests import campaigns

KILLS = {
    "server": "kills of the server",
    "agent": "of a node agent",
    "fork_server": "of what makes its shims",
    "netd": "of netd",
    "supervisor": "of the supervisor",
    "shims": "of a shim, with all its containers",
}
COUNTS = {
    "adopted": "containers found to be the same processes after the kills",
    "restarted": "containers of killed shims judged",
    "ended": "pods that ended by themselves judged",
    "lines": "lines of logs judged",
}


def table(path: Path) -> str:
    rounds = campaigns.read(path)
    seeds = {entry["seed"] for entry in rounds}
    of_user = {entry["seed"] for entry in rounds if entry["user"] == "user"}
    rows = [
        ("clusters ended in the midst of kills", str(len(rounds) - len(seeds))),
        *campaigns.counted(rounds, KILLS, "kills"),
        *campaigns.counted(rounds, COUNTS),
    ]
    return campaigns.table(rounds, rows, f"{len(of_user)} of them as an ordinary user")


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
