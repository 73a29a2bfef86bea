# SPDX-License-Identifier: Apache-2.0
"""What ranks of `learner.py` wrote down, and whether it adds up: every sample once in every epoch. Only reads files.

A step that was done again, after a death, counts as it was done last. A rank notes what it takes before the step, and a
step is through only when all have taken part in it: what was done last was done by all of its size.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Attempt: TypeAlias = tuple[int, int]
"""The launcher, of those that followed each other, and its generation."""


@dataclass(frozen=True)
class Entry:
    attempt: Attempt
    step: int
    size: int
    epoch: int
    samples: tuple[int, ...]


def read(folders: Sequence[Path]) -> list[Entry]:
    """One folder for each launcher, in their order. What was cut short by a kill was not done."""
    found = []
    for launch, folder in enumerate(folders):
        for path in sorted(folder.glob("book.*")):
            for line in path.read_text().splitlines():
                try:
                    words = json.loads(line)
                except ValueError:
                    continue
                attempt = (launch, words["generation"])
                found.append(Entry(attempt, words["step"], words["size"], words["epoch"], tuple(words["samples"])))
    return found


def results(folders: Iterable[Path]) -> list[dict[str, Any]]:
    """Of those that came to the end."""
    return [json.loads(path.read_text()) for folder in folders for path in sorted(folder.glob("learned.*"))]


def attempts(entries: Iterable[Entry]) -> dict[int, dict[Attempt, list[Entry]]]:
    """By step, and then by when it was done."""
    found: dict[int, dict[Attempt, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        found[entry.step][entry.attempt].append(entry)
    return found


def counted(entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    """Each step as it was done last."""
    return {step: done[max(done)] for step, done in sorted(attempts(entries).items())}


def faults(counted: Mapping[int, Sequence[Entry]], steps: int, epochs: int, samples: int) -> Iterator[str]:
    """What is wrong with the steps that count."""
    if list(counted) != list(range(1, steps + 1)):
        yield f"steps are missing, or too many: {_some(set(range(1, steps + 1)) ^ set(counted))}"
    for step, entries in counted.items():
        sizes = {entry.size for entry in entries}
        if sizes != {len(entries)}:
            yield f"step {step} was done by {len(entries)} of {sizes} ranks"
    for epoch in range(epochs):
        seen = Counter(
            sample
            for entries in counted.values()
            for entry in entries
            if entry.epoch == epoch
            for sample in entry.samples
        )
        if wrong := [sample for sample in range(samples) if seen[sample] != 1]:
            yield f"epoch {epoch}: samples that were not taken once: {_some(wrong)}"
        if beyond := set(seen) - set(range(samples)):
            yield f"epoch {epoch}: there are no such samples: {_some(beyond)}"


def unequal(results: Sequence[Mapping[str, Any]], plain: Mapping[str, Any]) -> Iterator[str]:
    """What was learned, beside what one process learns that nothing happens to: the same, but for rounding."""
    if not results:
        yield "nobody came to the end"
    for result in results:
        if result["steps"] != plain["steps"] or result["total"] != plain["total"]:
            yield f"{result['steps']} steps, counted {result['total']} times, instead of {plain['steps']}"
        pairs = zip(result["losses"], plain["losses"], strict=True)
        if off := [step for step, (one, other) in enumerate(pairs, 1) if abs(one - other) > 1e-9 * max(abs(other), 1)]:
            yield f"the loss is another one from step {off[0]} on"


def _some(numbers: Iterable[int]) -> str:
    found = sorted(numbers)
    return ", ".join(map(str, found[:5])) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
