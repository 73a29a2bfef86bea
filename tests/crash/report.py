# SPDX-License-Identifier: Apache-2.0
"""Adds up the rounds of a campaign: `python -m tests.crash.report FILE` prints the table for docs/crash-campaign.md."""

from __future__ import annotations

import sys
from pathlib import Path

from tests import campaigns

COUNTS = {
    "writes": "writes sent",
    "acknowledged": "acknowledged",
    "landed": "answer lost, write there",
    "lost": "answer lost, write not there",
    "kills": "kills",
    "kills_while_starting": "of these while starting",
    "losses": "files lost or cut, and put back",
    "full": "disks full for a moment",
    "refused": "writes refused on full disks",
    "events": "watch events judged",
    "resumed": "watches resumed",
    "chores": "objects upkeep had to remove",
}


def table(path: Path) -> str:
    rounds = campaigns.read(path)
    return campaigns.table(rounds, campaigns.counted(rounds, COUNTS))


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
