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


def test_the_context_is_a_module_of_the_package_for_programs() -> None:
    show = "from springtide.elastic import context; print(context.__name__, context.ring.__name__)"
    found = subprocess.run([sys.executable, "-P", "-c", show], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["springtide.elastic.rank.context", "ring"]


def test_the_first_name_loads_all_that_a_program_may_use_later() -> None:
    """The package may be another version's by the time a program first reports its progress."""
    show = "import sys; from springtide.elastic import State; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-P", "-c", show], capture_output=True, text=True, check=True)
    assert {f"springtide.elastic.rank.{name}" for name in ("reporting", "samplers", "collectives")} <= set(
        found.stdout.split()
    )


def test_agents_load_nothing_that_programs_or_launchers_use() -> None:
    show = "import sys, springtide.elastic.agent; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-P", "-c", show], capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split())
    assert not {"asyncio", "ssl", "logging", "springtide.elastic.rank"} & loaded
    assert not [name for name in loaded if name.startswith("springtide.elastic.launcher.state_machine")]
