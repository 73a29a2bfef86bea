# SPDX-License-Identifier: Apache-2.0
"""Environments that use an existing virtual environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from springtide.local.environments import adopting
from springtide.local.environments.environment import Environment
from springtide.local.environments.shelf import Environments
from springtide.local.environments.tools import MakingError

IMAGE = "tide-run/work:1"


@pytest.fixture
def existing(tmp_path: Path) -> Path:
    place = tmp_path / "with spaces" / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "only_here.py").write_text("VALUE = 42")
    tool = place / "bin" / "only-tool"
    tool.write_text("#!/bin/sh\necho tool\n")
    tool.chmod(0o755)
    return place


@pytest.fixture
def shelf(tmp_path: Path) -> Environments:
    return Environments(tmp_path / "shelf")


def output(environment: Environment, *words: str) -> str:
    program = Path(environment.prefix) / "bin" / words[0]
    done = subprocess.run([str(program), *words[1:]], capture_output=True, text=True, check=True, cwd="/")
    return done.stdout.strip()


def test_packages_and_programs_of_both_are_found(shelf: Environments, existing: Path) -> None:
    made = adopting.adopt(shelf, "work", existing, IMAGE)
    assert shelf.for_image(IMAGE) == made
    program = "import only_here, springtide.elastic; print(only_here.VALUE, springtide.elastic.__file__)"
    value, where = output(made, "python", "-c", program).split(" ", 1)
    assert value == "42"
    assert where.startswith(made.prefix)
    assert output(made, "only-tool") == "tool"
    assert "tiderun" in output(made, "tiderun", "--version")
    assert any(str(existing).startswith(path) for path in made.paths)


def test_packages_that_are_installed_later_are_found_too(shelf: Environments, existing: Path) -> None:
    made = adopting.adopt(shelf, "work", existing, IMAGE)
    (packages,) = existing.glob("lib/python*/site-packages")
    (packages / "later.py").write_text("VALUE = 7")
    assert output(made, "python", "-c", "import later; print(later.VALUE)") == "7"


def test_it_is_made_anew_only_when_the_existing_one_has_changed(shelf: Environments, existing: Path) -> None:
    first = adopting.adopt(shelf, "work", existing, IMAGE)
    assert adopting.adopt(shelf, "work", existing, IMAGE) == first
    os.utime(existing / "bin", (1, 1))
    second = adopting.adopt(shelf, "work", existing, IMAGE)
    assert second.prefix != first.prefix
    assert not Path(first.prefix).exists()


def test_an_environment_that_does_not_work_is_named(shelf: Environments, existing: Path) -> None:
    python = existing / "bin" / "python"
    python.unlink()
    python.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(MakingError, match="does not work: broken"):
        adopting.adopt(shelf, "work", existing, IMAGE)
    python.write_text("#!/bin/sh\necho '[\"3.9.1\", []]'\n")
    with pytest.raises(MakingError, match=r"has Python 3\.9\.1, and tiderun needs 3\.11 or newer"):
        adopting.adopt(shelf, "work", existing, IMAGE)
    assert shelf.all() == []


def test_an_environment_is_shared_under_another_name(shelf: Environments) -> None:
    shared = adopting.share(shelf, shelf.fallback, "work", IMAGE)
    assert (shared.prefix, shared.images) == (shelf.fallback.prefix, (IMAGE,))
    assert shelf.for_image(IMAGE) == shared
    assert adopting.is_own(Path(shared.prefix))
