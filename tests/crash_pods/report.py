# SPDX-License-Identifier: Apache-2.0
"""Adds up the rounds of a campaign: `python -m tests.crash_pods.report FILE` prints a table for the docs."""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

KILLS = {
    "server": "kills of the server",
    "agent": "of a node agent",
    "nursery": "of what makes its shims",
    "holder": "of the network holder",
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
    rounds = [json.loads(line) for line in path.read_text().splitlines()]
    seeds = {entry["seed"] for entry in rounds}
    of_user = {entry["seed"] for entry in rounds if entry["user"] == "user"}
    failed = [entry for entry in rounds if entry["violations"]]
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    lines = [
        "| | |",
        "|---|---|",
        f"| date | {datetime.now(UTC):%Y-%m-%d} |",
        f"| machine | {machine} |",
        f"| rounds | {len(seeds)}, seeds {min(seeds)}-{max(seeds)}; {len(of_user)} of them as an ordinary user |",
        f"| clusters ended in the midst of kills | {len(rounds) - len(seeds)} |",
    ]
    lines += [f"| {words} | {sum(entry['kills'][name] for entry in rounds):,} |" for name, words in KILLS.items()]
    lines += [f"| {words} | {sum(entry[name] for entry in rounds):,} |" for name, words in COUNTS.items()]
    lines.append(f"| **violations** | **{sum(len(entry['violations']) for entry in failed)}** |")
    lines += [f"\nseed {entry['seed']}: {entry['violations'][0]}" for entry in failed]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
