# SPDX-License-Identifier: Apache-2.0
"""Adds up the rounds of a campaign: `python -m tests.crash_elastic.report FILE` prints a table for the docs."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from datetime import UTC, datetime
from pathlib import Path

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
    rounds = [json.loads(line) for line in path.read_text().splitlines()]
    seeds = [entry["seed"] for entry in rounds]
    cables = sum(entry["world"] == "machines" for entry in rounds)
    failed = [entry for entry in rounds if entry["violations"]]
    seconds = [entry["seconds"] for entry in rounds]
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    lines = [
        "| | |",
        "|---|---|",
        f"| date | {datetime.now(UTC):%Y-%m-%d} |",
        f"| machine | {machine} |",
        f"| rounds | {len(seeds)}, seeds {min(seeds)}-{max(seeds)}; {cables} of them on three machines with cables |",
    ]
    lines += [f"| {words} | {sum(entry['acts'][name] for entry in rounds):,} |" for name, words in ACTS.items()]
    lines += [f"| {words} | {sum(entry[name] for entry in rounds):,} |" for name, words in COUNTS.items()]
    lines.append(f"| a round, half of them / the longest | {statistics.median(seconds):.1f} s / {max(seconds):.1f} s |")
    lines.append(f"| **violations** | **{sum(len(entry['violations']) for entry in failed)}** |")
    lines += [f"\nseed {entry['seed']}: {entry['violations'][0]}" for entry in failed]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
