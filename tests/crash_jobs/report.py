# SPDX-License-Identifier: Apache-2.0
"""Adds up the rounds of a campaign: `python -m tests.crash_jobs.report FILE` prints a table for the docs."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from datetime import UTC, datetime
from pathlib import Path

ACTS = {
    "operator": "kills of the operator",
    "server": "of the server",
    "agent": "of a node agent",
    "supervisor": "of the supervisor",
    "kill a worker": "of a worker's program",
    "kill a worker's shim": "of a worker's shim",
    "kill the launcher": "of a launcher's program",
    "delete a worker": "workers deleted",
    "delete the launcher": "launchers deleted",
    "resize": "sizes changed, within bounds and beyond",
    "scale": "the same by the scale subresource",
    "point at a victim": "victims pointed at",
    "suspend": "jobs suspended",
    "recreate": "jobs deleted and created again at once",
    "cordon": "nodes cordoned",
    "drain": "drained",
    "reclaim": "reclaimed",
}
COUNTS = {
    "launchers": "launchers that ran",
    "lists": "host lists that they saw",
    "answers": "answers of hosts",
    "late": "hosts over SSH whose names came a moment after they were listed",
    "states": "states of objects judged",
}


def table(path: Path) -> str:
    rounds = [json.loads(line) for line in path.read_text().splitlines()]
    seeds = [entry["seed"] for entry in rounds]
    of_user = sum(entry["user"] == "user" for entry in rounds)
    failed = [entry for entry in rounds if entry["violations"]]
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    settling = [entry["settling"] for entry in rounds]
    outcomes = {word: sum(entry["outcomes"].get(word, 0) for entry in rounds) for word in ("Succeeded", "Failed")}
    lines = [
        "| | |",
        "|---|---|",
        f"| date | {datetime.now(UTC):%Y-%m-%d} |",
        f"| machine | {machine} |",
        f"| rounds | {len(seeds)}, seeds {min(seeds)}-{max(seeds)}; {of_user} of them as an ordinary user |",
    ]
    lines += [f"| {words} | {sum(entry['acts'][name] for entry in rounds):,} |" for name, words in ACTS.items()]
    lines += [f"| {words} | {sum(entry[name] for entry in rounds):,} |" for name, words in COUNTS.items()]
    lines.append(f"| jobs that succeeded | {outcomes['Succeeded']:,} |")
    lines.append(
        f"| jobs that failed, rightly: their launcher was killed and had no other try | {outcomes['Failed']} |"
    )
    lines.append(
        f"| until all jobs were as wanted, half of the rounds / the longest | "
        f"{statistics.median(settling):.1f} s / {max(settling):.1f} s |"
    )
    lines.append(f"| **violations** | **{sum(len(entry['violations']) for entry in failed)}** |")
    lines += [f"\nseed {entry['seed']}: {entry['violations'][0]}" for entry in failed]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
