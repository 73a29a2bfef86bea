# SPDX-License-Identifier: Apache-2.0
"""What of Springtide is copied into an environment runs there, and says whose it is."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

import springtide
from springtide.local.environments import bundle


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An environment with a path that a first line of a script could not hold."""
    directory = tmp_path / "with a space"
    (directory / "bin").mkdir(parents=True)
    (directory / "packages").mkdir()
    (directory / "bin" / "python").symlink_to(sys.executable)
    return directory


def run(place: Path, *command: str | Path) -> str:
    environment = {"PYTHONPATH": str(place / "packages"), "PATH": "/usr/bin:/bin"}
    words = [str(word) for word in command]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout


def test_the_library_and_its_commands_run_without_the_rest(place: Path) -> None:
    added = bundle.install(place, place / "packages", horovod=True)
    assert [path.name for path in added] == ["springtide", "horovod"]
    assert sorted(path.name for path in added[0].iterdir()) == ["__init__.py", "elastic", "py.typed", "stand_ins"]
    code = "import springtide.elastic, horovod; print(springtide.__file__); print(horovod.__version__)"
    where, version = run(place, place / "bin" / "python", "-S", "-c", code).splitlines()
    assert where == str(place / "packages" / "springtide" / "__init__.py")
    assert version == f"0.28.1+springtide.{springtide.__version__}"
    assert run(place, place / "bin" / "tiderun", "--version") == f"tiderun {springtide.__version__}\n"
    assert "Springtide" in run(place, place / "bin" / "horovodrun", "--version")


def test_it_is_listed_as_what_it_is(place: Path) -> None:
    bundle.install(place, place / "packages", horovod=True)
    found = {each.name: each for each in distributions(path=[str(place / "packages")])}
    assert {name: each.version for name, each in found.items()} == {
        "springtide": springtide.__version__,
        "horovod": f"0.28.1+springtide.{springtide.__version__}",
    }
    for each in found.values():
        files = each.files or []
        assert files
        assert all(Path(str(each.locate_file(file))).is_file() for file in files)


def test_what_was_installed_on_request_stays(place: Path) -> None:
    for name in ("springtide", "horovod"):
        (place / "packages" / f"{name}-9.dist-info").mkdir()
    assert bundle.install(place, place / "packages", horovod=True) == []
    assert not (place / "packages" / "springtide").exists()


def test_programs_lie_where_containers_look_for_them(tmp_path: Path) -> None:
    shown = bundle.write_programs(
        tmp_path, {"/examples/elastic/one.py": "mnist_elastic", "/examples/two.py": "mnist", "/b/c.py": "mnist"}
    )
    assert shown == {"/examples": tmp_path / "examples", "/b": tmp_path / "b"}
    copied = (tmp_path / "examples/elastic/one.py").read_text()
    assert copied == (Path(springtide.__path__[0]) / "stand_ins" / "mnist_elastic.py").read_text()


def test_programs_hide_no_directory_that_containers_have_anyway(tmp_path: Path) -> None:
    shown = bundle.write_programs(tmp_path, {"/var/tf_mnist/one.py": "mnist", "/opt/mnist/src/two.py": "mnist"})
    assert shown == {"/var/tf_mnist": tmp_path / "var/tf_mnist", "/opt/mnist": tmp_path / "opt/mnist"}
    assert (tmp_path / "opt/mnist/src/two.py").exists()


@pytest.mark.parametrize(("name", "there"), [("torch", True), ("nvidia-cufile", True), ("horovod", False)])
def test_an_installed_package_is_found_by_its_name(name: str, there: bool, tmp_path: Path) -> None:
    for folder in ("torch", "torch-2.15.0.dist-info", "nvidia_cufile-1.17.1.dist-info"):
        (tmp_path / folder).mkdir()
    assert bundle.has(tmp_path, name) is there


@pytest.mark.parametrize(("python", "runs"), [("3.10.4", False), ("3.11.0", True), ("3.14.0rc1", True)])
def test_old_interpreters_cannot_run_it(python: str, runs: bool) -> None:
    assert bundle.runs_on(python) is runs
