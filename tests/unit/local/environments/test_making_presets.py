# SPDX-License-Identifier: Apache-2.0
"""How the environment of a preset is made: which commands run, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from springtide.local.environments import empty_libraries, making, presets
from springtide.local.environments.environment import Environment
from springtide.local.environments.making import Recipe
from springtide.local.environments.presets import Preset
from springtide.local.environments.shelf import Environments
from springtide.local.environments.tools import MakingError, Probed, Tools

PYTORCH = presets.table()["pytorch"]


class Installer:
    """Stands in for uv: creates the metadata of what it is told to install."""

    def __init__(self, python: str = "3.12.1") -> None:
        self.python = python
        self.installed: list[Sequence[str]] = []

    def __call__(self, command: Sequence[str]) -> int:
        if "venv" in command:
            (Path(command[-1]) / "bin").mkdir(parents=True)
        if "install" in command:
            self.installed.append(command)
            packages = self.packages(Path(command[command.index("--python") + 1]).parents[1])
            for word in command:
                if word.startswith("torch"):
                    (packages / "torch-2.15.0.dist-info").mkdir(parents=True, exist_ok=True)
        return 0

    def packages(self, directory: Path) -> Path:
        return directory / "site-packages"

    def probe(self, directory: Path) -> Probed:
        return Probed(self.python, (str(directory),), self.packages(directory))

    def make(self, root: Path, preset: Preset, *requirements: str) -> Environment:
        recipe = Recipe.of(preset)
        wanted = Recipe(recipe.name, (*recipe.requirements, *requirements), preset=preset)
        shelf = Environments(root, Environment("tide", "/opt/tide"))
        return making.make(shelf, wanted, tools=Tools("uv", self, self.probe))


@pytest.fixture
def supplied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The libraries that were looked at; they lack what the list `lacking` holds."""
    found: list[str] = []

    def supply(libraries: Sequence[Path]) -> list[str]:
        found.extend(library.name for library in libraries)
        return []

    monkeypatch.setattr(empty_libraries, "supply", supply)
    return found


def test_what_a_preset_wants_alone_is_installed_without_what_it_requires(tmp_path: Path, supplied: list[str]) -> None:
    installer = Installer()
    installer.make(tmp_path, PYTORCH)
    first, second = installer.installed
    assert "--no-deps" not in first
    assert set(PYTORCH.requirements) < set(first)
    assert "--no-deps" in second
    assert "--only-binary=:all:" in second
    assert set(PYTORCH.alone) < set(second)
    assert supplied == ["libtorch.so", "libtorch_python.so"]


def test_what_the_user_installs_stays_as_it_is(tmp_path: Path, supplied: list[str]) -> None:
    installer = Installer()
    installer.make(tmp_path, PYTORCH, "torch")
    first, second = installer.installed
    assert "torch" in first
    assert not any(word.startswith("torch") for word in second)


def test_libraries_that_cannot_be_replaced_are_an_error_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(empty_libraries, "supply", lambda libraries: ["libcudnn.so.9"])
    with pytest.raises(MakingError) as caught:
        Installer().make(tmp_path, PYTORCH)
    why, advice = str(caught.value).splitlines()
    assert why == "libtorch.so of preset 'pytorch' does not load here, it lacks libcudnn.so.9"
    assert "tide env create --preset pytorch --pip torch==2.15.0" in advice


@pytest.mark.parametrize(
    ("name", "python", "complaint"),
    [
        ("horovod", "3.10.4", "preset 'horovod' needs Python 3.11 or newer, not 3.10.4"),
        ("tensorflow", "3.14.0", "preset 'tensorflow' needs Python 3.13 or older, not 3.14.0"),
        ("horovod-tensorflow", "3.14.0", "Choose another that this machine has: --python 3.13"),
    ],
)
def test_a_python_without_its_packages_is_refused_before_anything_is_fetched(
    name: str, python: str, complaint: str, tmp_path: Path
) -> None:
    installer = Installer(python)
    with pytest.raises(MakingError, match=complaint):
        installer.make(tmp_path, presets.table()[name])
    assert installer.installed == []


def test_the_newest_python_of_a_preset_is_not_refused(tmp_path: Path) -> None:
    installer = Installer("3.13.9")
    installer.make(tmp_path, presets.table()["tensorflow"])
    assert len(installer.installed) == 1
