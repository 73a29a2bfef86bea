# SPDX-License-Identifier: Apache-2.0
"""What the rounds of a crash campaign add up to, as a table for docs/crash-campaign.md."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Round = dict[str, Any]
Row = tuple[str, str]


def read(path: Path) -> list[Round]:
    """A round is a line that its test has written."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def counted(rounds: Sequence[Round], names: Mapping[str, str], of: str | None = None) -> list[Row]:
    """A row for each name, in its words: the sum over all rounds, or over a part of each."""
    parts = rounds if of is None else [entry[of] for entry in rounds]
    return [(words, f"{sum(part[name] for part in parts):,}") for name, words in names.items()]


def lasted(words: str, seconds: Sequence[float]) -> Row:
    return f"{words}, half of the rounds / the longest", f"{statistics.median(seconds):.1f} s / {max(seconds):.1f} s"


def table(rounds: Sequence[Round], rows: Iterable[Row], about: str = "") -> str:
    """`about` says of which kinds the rounds were."""
    seeds = {entry["seed"] for entry in rounds}
    violations = [(entry["seed"], each) for entry in rounds for each in entry["violations"]]
    begin = [
        ("", ""),
        ("---", "---"),
        ("date", f"{datetime.now(UTC):%Y-%m-%d}"),
        ("machine", f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"),
        ("rounds", f"{len(seeds)}, seeds {min(seeds)}-{max(seeds)}{about and f'; {about}'}"),
    ]
    lines = [f"| {left} | {right} |" for left, right in [*begin, *rows, ("**violations**", f"**{len(violations)}**")]]
    return "\n".join([*lines, *(f"\nseed {seed}: {what}" for seed, what in violations)])
