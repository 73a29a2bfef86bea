# SPDX-License-Identifier: Apache-2.0
"""What is loaded, and when: there is an agent before every rank, and nothing begins before it has."""

from __future__ import annotations

import subprocess
import sys

import pytest

from springtide import elastic


def test_all_names_are_there() -> None:
    assert all(hasattr(elastic, name) for name in elastic.__all__)
    with pytest.raises(AttributeError, match="no attribute 'adasum'"):
        _ = elastic.adasum


def test_agents_load_nothing_that_programs_or_launchers_use() -> None:
    show = "import sys, springtide.elastic.agent; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-P", "-c", show], capture_output=True, text=True, check=True)
    heavy = {"asyncio", "ssl", "logging", "springtide.elastic.state", "springtide.elastic.membership"}
    assert not heavy & set(found.stdout.split())
