# SPDX-License-Identifier: Apache-2.0
"""What docs/embedded-cluster.md and its translation say is so: the commands run, and the table lists what is served."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs import pages

import springtide
from springtide.local.apiserver.registry.catalog import builtin_resources

ENGLISH, CHINESE = pages.DOCS / "embedded-cluster.md", pages.DOCS / "zh" / "embedded-cluster.md"
PAGES = pytest.mark.parametrize("page", [ENGLISH, CHINESE], ids=["en", "zh"])

ROW = re.compile(r"^\| `([a-z0-9./]+)` \| ((?:`[a-z/]+` ?)+) \|", re.MULTILINE)


@pytest.mark.timeout(180)
def test_every_command_works(home: Path) -> None:
    assert "kube-system" in pages.run(ENGLISH, home)


def test_the_translation_has_the_same_commands() -> None:
    assert pages.blocks(ENGLISH) == pages.blocks(CHINESE)
    assert pages.sections(ENGLISH) == pages.sections(CHINESE)


@PAGES
def test_the_table_lists_what_is_served(page: Path) -> None:
    listed = {(group, name) for group, names in ROW.findall(page.read_text()) for name in re.findall("`(.*?)`", names)}
    served = set()
    for resource in builtin_resources():
        group = f"{resource.group}/{resource.version}" if resource.group else resource.version
        served.add((group, resource.plural))
        served |= {(group, f"{resource.plural}/{name}") for name in resource.subresources}
    assert listed == served


@PAGES
def test_the_followed_version_is_named(page: Path) -> None:
    assert springtide.KUBERNETES_VERSION in page.read_text()
