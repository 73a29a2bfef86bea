# SPDX-License-Identifier: Apache-2.0
"""What docs/mpijobs.md and its translation say is so: the commands run, and the defaults are those of the engine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs import pages
from tests.docs.pages import DOCS

from springtide.cli.operator.command import operator
from springtide.jobs.launchers import launching
from springtide.jobs.parts.pod_templates import ISTIO
from springtide.jobs.replicas import resizing
from springtide.jobs.reporting.state_name import StateName

PAGES = ("mpijobs.md", "zh/mpijobs.md")


@pytest.mark.timeout(200)
def test_its_commands_run(home: Path) -> None:
    if not pages.TOOLS:
        pytest.skip("needs kubectl: make test-docs")
    said = pages.run(DOCS / "mpijobs.md", home)
    assert "ranks on pi-worker-0" in said


def test_the_translation_has_the_same_commands_and_sections() -> None:
    original, translated = (DOCS / page for page in PAGES)
    bare = [[re.sub(r" +#.*", "", body) for _, body in pages.blocks(page)] for page in (original, translated)]
    assert bare[0] == bare[1]
    assert pages.sections(original) == pages.sections(translated)


@pytest.mark.parametrize("page", PAGES)
def test_the_waiting_times_are_those_of_the_engine(page: str) -> None:
    rows = re.findall(r"^\| `springtide.dev/(\w+)-seconds` \| (\d+) \|", (DOCS / page).read_text(), re.MULTILINE)
    known = {"drain": resizing.DRAIN_SECONDS, "settle": launching.SETTLE_SECONDS, "start": launching.START_SECONDS}
    assert {name: int(seconds) for name, seconds in rows} == known


@pytest.mark.parametrize("page", PAGES)
def test_the_way_out_of_istio_and_the_way_to_kubectl_are_named(page: str) -> None:
    text = (DOCS / page).read_text()
    assert f'`{ISTIO}: "false"`' in text
    (option,) = (each for each in operator.params if each.name == "kubectl_image")
    assert f"`tide operator {option.opts[0]}`" in text


@pytest.mark.parametrize("page", PAGES)
def test_every_state_is_named(page: str) -> None:
    text = (DOCS / page).read_text()
    assert [word for word in StateName if word.value not in text] == []
