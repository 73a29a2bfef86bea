# SPDX-License-Identifier: Apache-2.0
"""What differs between two sets of answers, and which differences `docs/differences.md` accepts.

The table's second column names steps and, after a colon's space, paths inside the answer, in which `*` stands for
anything: `custom-resources/huge status, body.*`. A difference that no row accepts is a failure, and so is a row whose
difference is gone: the table never says more than the truth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[3] / "docs" / "differences.md"
_ROW = re.compile(r"^\|\s*(D\d+)\s*\|(.*)\|(.*)\|\s*$")
ABSENT = "(absent)"


@dataclass(frozen=True)
class Difference:
    step: str
    path: str
    real: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.step} {self.path}\n    real: {self.real!r}\n    ours: {self.ours!r}"


@dataclass(frozen=True)
class Accepted:
    """One place where a row of the table allows a difference."""

    row: str
    scenario: str
    step: str
    path: str

    def covers(self, scenario: str, difference: Difference) -> bool:
        step = difference.step.replace("[", "(").replace("]", ")")
        path = difference.path.replace("[", "(").replace("]", ")")
        pattern = self.path.replace("[", "(").replace("]", ")")
        return self.scenario == scenario and fnmatchcase(step, self.step) and fnmatchcase(path, pattern)


def accepted(table: Path = TABLE) -> list[Accepted]:
    return [place for line in table.read_text().splitlines() if (row := _ROW.match(line)) for place in _places(row)]


def _places(row: re.Match[str]) -> Iterator[Accepted]:
    for place in re.findall(r"`([^`]+)`", row[2]):
        where, _, path = place.partition(" ")
        scenario, _, step = where.partition("/")
        yield Accepted(row[1], scenario, step, path or "*")


def differences(real: dict[str, Any], ours: dict[str, Any]) -> list[Difference]:
    return [
        Difference(step, path, *pair)
        for step in real
        for path, *pair in _compare("", real[step], ours.get(step, ABSENT))
    ]


def _compare(path: str, real: Any, ours: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(real, dict) and isinstance(ours, dict):
        for key in sorted(real.keys() | ours.keys()):
            inner = f"{path}.{key}" if path else key
            yield from _compare(inner, real.get(key, ABSENT), ours.get(key, ABSENT))
    elif isinstance(real, list) and isinstance(ours, list):
        for index in range(max(len(real), len(ours))):
            pair = [side[index] if index < len(side) else ABSENT for side in (real, ours)]
            yield from _compare(f"{path}[{index}]", *pair)
    elif real != ours or type(real) is not type(ours):
        yield path, real, ours


def complaints(scenario: str, found: list[Difference], table: list[Accepted]) -> list[str]:
    """Why a scenario fails: differences not accepted, and accepted ones that did not occur."""
    places = [place for place in table if place.scenario == scenario]
    unlisted = [str(each) for each in found if not any(place.covers(scenario, each) for place in places)]
    gone = [
        f"{place.row} in docs/differences.md no longer occurs: {place.scenario}/{place.step} {place.path}"
        for place in places
        if not any(place.covers(scenario, each) for each in found)
    ]
    return unlisted + gone
