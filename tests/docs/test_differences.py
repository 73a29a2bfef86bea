# SPDX-License-Identifier: Apache-2.0
"""What docs/differences.md says is not served is not; the contract suite judges the rest of it."""

from __future__ import annotations

import re

from tests.docs import pages

from springtide.local.apiserver.registry.catalog import builtin_resources


def test_what_is_said_not_to_be_served_is_not() -> None:
    text = (pages.DOCS / "differences.md").read_text()
    table = text.partition("| not served |")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `([a-z]+)` \|", table, re.MULTILINE))
    assert named == {"limitranges"}
    assert not named & {resource.plural for resource in builtin_resources()}
