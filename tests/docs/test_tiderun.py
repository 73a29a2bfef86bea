# SPDX-License-Identifier: Apache-2.0
"""The page on tiderun does what it says."""

from __future__ import annotations

from pathlib import Path

from tests.docs import pages


def test_the_commands_of_the_page_work(home: Path) -> None:
    said = pages.run(pages.DOCS / "tiderun.md", home)
    assert "[1]<stdout>:rank 1 on localhost" in said
