# SPDX-License-Identifier: Apache-2.0
"""What a container would wait for, said before it exists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from springtide.local.environments import availability, code_fetchers
from springtide.local.environments.environment import Environment
from springtide.local.environments.shelf import Environments

TENSORBOARD = {"image": "example.com/tensorboard:2", "command": ["tensorboard", "--logdir", "/logs"]}


@pytest.fixture
def shelf(tmp_path: Path) -> Environments:
    return Environments(tmp_path / "shelf")


def make(shelf: Environments, image: str, *programs: str) -> None:
    prefix = shelf.root / "made" / "1"
    (prefix / "bin").mkdir(parents=True)
    for program in programs:
        (prefix / "bin" / program).write_text("#!/bin/sh\n")
        (prefix / "bin" / program).chmod(0o755)
    shelf.put(Environment("made", str(prefix), (image,)))


@pytest.mark.parametrize(
    "container",
    [
        {"image": "example.com/me/train:1", "command": ["sh", "-c", "python train.py"]},
        {"image": "example.com/me/train:1", "command": ["/code/run"]},
        {"image": "example.com/me/train:1"},
        {"image": "mpioperator/mpi-operator:1"},
        {"image": "example.com/acs/git-sync:v3.3.5"},
    ],
)
def test_nothing_is_said_about_what_runs(shelf: Environments, container: dict[str, Any]) -> None:
    assert availability.obstacle(shelf, container) == ""


def test_a_preset_that_is_not_made_is_named(shelf: Environments) -> None:
    assert "tide env create --for example.com/tensorboard:2" in availability.obstacle(shelf, TENSORBOARD)


def test_an_environment_for_the_image_needs_the_program(shelf: Environments) -> None:
    make(shelf, "example.com/tensorboard")
    assert "--pip PACKAGE" in availability.obstacle(shelf, TENSORBOARD)


def test_an_environment_with_the_program_runs_it(shelf: Environments) -> None:
    make(shelf, "example.com/tensorboard", "tensorboard")
    assert availability.obstacle(shelf, TENSORBOARD) == ""


def test_a_program_of_no_environment_is_one_of_this_machine_or_of_a_preset(shelf: Environments) -> None:
    said = availability.obstacle(shelf, {**TENSORBOARD, "image": "example.com/me/board:1"})
    assert "tide env create board --preset tensorboard" in said


def test_a_program_that_no_package_index_has_is_installed_on_this_machine(
    shelf: Environments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(availability, "_DIRECTORIES", ())
    rsync = availability.obstacle(shelf, {"image": "example.com/rsync:1", "command": ["rsync", "-a"]})
    git = availability.obstacle(shelf, {"image": "example.com/git-sync:v3.3.5"})
    assert "apt-get install rsync" in rsync
    assert "apt-get install git" in git


@pytest.mark.parametrize(
    ("image", "known"),
    [
        ("registry.k8s.io/git-sync/git-sync:v3.6.5", True),
        ("git-sync", True),
        ("example.com/git-sync-fork:1", False),
        ("alpine/git", False),
    ],
)
def test_images_of_git_sync_have_a_stand_in(image: str, known: bool) -> None:
    found = code_fetchers.for_image(image)
    assert (found is not None) == known
    assert found is None or found.entrypoint[-1] == "springtide.stand_ins.git_sync"
