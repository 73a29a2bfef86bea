# SPDX-License-Identifier: Apache-2.0
"""What docs/pods.md and its translation say is so: the commands run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs import pages

ENGLISH, CHINESE = pages.DOCS / "pods.md", pages.DOCS / "zh" / "pods.md"


@pytest.mark.timeout(180)
def test_every_command_works(home: Path) -> None:
    said = pages.run(ENGLISH, home)
    assert "Node 'spot-b' is gone" in said
    if pages.TOOLS:
        assert "hello from hello" in said
        assert "1 2 3" in said


def test_the_translation_has_the_same_commands() -> None:
    assert pages.blocks(ENGLISH) == pages.blocks(CHINESE)
    assert pages.sections(ENGLISH) == pages.sections(CHINESE)
