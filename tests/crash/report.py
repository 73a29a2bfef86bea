# SPDX-License-Identifier: Apache-2.0
"""Adds up the rounds of a campaign: `python -m tests.crash.report FILE` prints the table for docs/crash-campaign.md."""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

COUNTS = {
    "writes": "writes sent",
    "acknowledged": "acknowledged",
    "landed": "answer lost, write there",
    "lost": "answer lost, write not there",
    "kills": "kills",
    "kills_while_starting": "of these while starting",
    "events": "watch events judged",
    "resumed": "watches resumed",
    "chores": "objects upkeep had to remove",
}


def table(path: Path) -> str:
    rounds = [json.loads(line) for line in path.read_text().splitlines()]
    seeds = [entry["seed"] for entry in rounds]
    failed = [entry for entry in rounds if entry["violations"]]
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    lines = [
        "| | |",
        "|---|---|",
        f"| date | {datetime.now(UTC):%Y-%m-%d} |",
        f"| machine | {machine} |",
        f"| rounds | {len(rounds)}, seeds {min(seeds)}-{max(seeds)} |",
    ]
    lines += [f"| {words} | {sum(entry[name] for entry in rounds):,} |" for name, words in COUNTS.items()]
    lines.append(f"| **violations** | **{sum(len(entry['violations']) for entry in failed)}** |")
    lines += [f"\nseed {entry['seed']}: {entry['violations'][0]}" for entry in failed]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
