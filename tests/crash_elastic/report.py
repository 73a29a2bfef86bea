# SPDX-License-Identifier: Apache-2.0
"""Adds up the rounds of a campaign: `python -m tests.crash_elastic.report FILE` prints a table for the docs."""

from __future__ import annotations

import sys
from pathlib import Path

from tests import campaigns

ACTS = {
    "kill a rank": "kills of a rank",
    "kill a newcomer": "of a newcomer that was about to join",
    "kill an agent": "of an agent",
    "kill the launcher": "of the launcher, started again at once",
    "stop a rank": "ranks stopped for good",
    "stop an agent": "agents stopped for good",
    "pause a rank": "ranks stopped for up to 3.5 s",
    "pause the launcher": "launchers stopped for up to 3.5 s",
    "resize": "lists of hosts changed",
    "the script fails": "scripts that failed for a while",
    "the script prints nonsense": "that printed nonsense",
    "the script repeats itself": "that named hosts twice",
    "the script flaps": "that printed now this, now that",
    "the script hangs": "that hung",
    "cut a cable": "cables cut and mended",
    "part two machines": "pairs of machines parted that both reached the launcher, and joined again",
}
COUNTS = {
    "workers": "ranks that ran",
    "generations": "generations",
    "started_over": "runs that nobody survived, and that had no checkpoint: started over",
    "steps": "steps done",
    "again": "steps done more than once",
    "samples": "samples judged",
}


def table(path: Path) -> str:
    rounds = campaigns.read(path)
    cables = sum(entry["world"] == "machines" for entry in rounds)
    rows = [
        *campaigns.counted(rounds, ACTS, "acts"),
        *campaigns.counted(rounds, COUNTS),
        campaigns.lasted("a round", [entry["seconds"] for entry in rounds]),
    ]
    return campaigns.table(rounds, rows, f"{cables} of them on three machines with cables")


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
