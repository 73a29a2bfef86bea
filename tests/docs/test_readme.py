# SPDX-License-Identifier: Apache-2.0
"""The first page leads somewhere, and says the same in both languages."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests.docs import pages
from tests.docs.pages import ROOT

PAGES = (ROOT / "README.md", ROOT / "README.zh-CN.md")


def commands(page: Path) -> list[str]:
    return [re.sub(r" +#.*", "", body) for _, body in pages.blocks(page)]


def picture(page: Path) -> list[str]:
    return [line for line in page.read_text().splitlines() if line.startswith("    ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_links_lead_to_pages(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_its_commands_are_there() -> None:
    (lines,) = commands(PAGES[0])
    for command in lines.split("\n")[:-1]:
        assert subprocess.run([*command.split(), "--question"], cwd=ROOT, capture_output=True).returncode in (0, 1)


def test_both_languages_have_the_same_commands_and_the_same_picture() -> None:
    assert commands(PAGES[0]) == commands(PAGES[1])
    assert picture(PAGES[0]) == picture(PAGES[1])


def test_every_page_that_is_translated_is_linked_in_its_language() -> None:
    english, chinese = ([*re.findall(r"docs/(?:zh/)?([\w-]+\.md)\)", page.read_text())] for page in PAGES)
    assert english == chinese
    linked = re.findall(r"docs/zh/([\w-]+\.md)\)", PAGES[1].read_text())
    assert sorted(linked) == sorted(path.name for path in (ROOT / "docs" / "zh").glob("*.md"))
