# SPDX-License-Identifier: Apache-2.0
"""What docs/from-your-document.md and its translation say is so: the commands run, on the documents' own manifests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs import pages

ENGLISH, CHINESE = (pages.DOCS / folder / "from-your-document.md" for folder in (".", "zh"))


@pytest.mark.timeout(700)
@pytest.mark.skipif(not pages.TOOLS, reason="needs kubectl: make test-docs")
def test_every_command_works(home: Path) -> None:
    said = pages.run(ENGLISH, home, patience=660)
    assert "tide env create --for horovod/horovod:0.20.0" in said  # an event names the command that the page has next
    assert re.search(r"^tensorflow-mnist-elastic +Running +3/3 +1 +3 .* 3$", said, re.MULTILINE)
    assert re.search(r"^\[2\]<stdout>:Step #690\tLoss: 0\.\d+$", said, re.MULTILINE)
    assert re.search(r"^Total images/sec: \d+\.\d\d$", said, re.MULTILINE)
    assert "tensorflow-mnist-worker-1 slots=1" in said
    assert re.search(r"^Step #340\tLoss: 0\.\d+$", said, re.MULTILINE)
    assert re.search(r"^Trained \d+ steps with 3 ranks; accuracy 0\.\d+", said, re.MULTILINE)


def test_the_translation_has_the_same_commands_sections_and_rows() -> None:
    pages.assert_same("from-your-document.md", "zh/from-your-document.md")


@pytest.mark.parametrize("page", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_its_links_lead_to_sections(page: Path) -> None:
    pages.assert_links(page)
