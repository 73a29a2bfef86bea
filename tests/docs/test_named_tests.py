# SPDX-License-Identifier: Apache-2.0
"""Tests that the documents name as proof exist."""

from __future__ import annotations

import re

import pytest
from tests.docs.pages import ROOT

_PATH = re.compile(r"\btests/[\w./-]*\w")


def pages() -> list[str]:
    paths = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").glob("*.md"))
    return [str(path.relative_to(ROOT)) for path in sorted(paths)]


@pytest.mark.parametrize("page", pages())
def test_every_path_of_a_test_that_a_page_names_exists(page: str) -> None:
    named = set(_PATH.findall((ROOT / page).read_text()))
    assert [each for each in sorted(named) if not (ROOT / each).exists()] == []


def test_pages_that_name_tests_are_looked_at() -> None:
    assert {"docs/security.md", "ROADMAP.md"} <= {page for page in pages() if _PATH.search((ROOT / page).read_text())}
