# SPDX-License-Identifier: Apache-2.0
"""docs/troubleshooting.md and its translation say what is really printed, and where, for each mistake."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.e2e import mistakes
from tests.e2e.mistakes import MISTAKES, Mistake
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(300)

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "troubleshooting.md", DOCS / "zh" / "troubleshooting.md")
ROW = re.compile(r"^\| (?P<number>\d+) \| (?P<mistake>.+?) \| `` (?P<said>.+?) `` \| (?P<where>.+?) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    mistake: str
    said: str
    """With … for what differs from case to case."""
    where: tuple[str, ...]

    def fits(self, text: str) -> bool:
        """White space does not count: kubectl breaks lines, logs have several."""
        words = [re.escape(" ".join(part.split())) for part in self.said.split("…")]
        return re.search(".*".join(words), " ".join(text.split()), re.DOTALL) is not None


def rows(page: Path) -> dict[int, Row]:
    found = ROW.finditer(page.read_text())
    return {
        int(each["number"]): Row(each["mistake"], each["said"], tuple(re.findall(r"`([^`]+)`", each["where"])))
        for each in found
    }


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_the_page_says_what_is_printed(space: Cluster, mistake: Mistake) -> None:
    row, said = rows(PAGES[0])[mistake.number], mistake.make(space)
    assert set(row.where) == set(said), said
    for place, text in said.items():
        assert row.fits(text), f"{place}: {text}"


def test_the_translation_has_the_same_messages_at_the_same_places() -> None:
    original, translated = (rows(page) for page in PAGES)
    assert original.keys() == translated.keys()
    for number, row in original.items():
        assert (translated[number].said, translated[number].where) == (row.said, row.where)
        assert translated[number].mistake != row.mistake


def test_every_mistake_has_a_row() -> None:
    assert {each.number for each in MISTAKES} <= rows(PAGES[0]).keys()
    assert mistakes.KUBECTL in rows(PAGES[0])[2].where
