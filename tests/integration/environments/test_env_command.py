# SPDX-License-Identifier: Apache-2.0
"""`tide env` with real interpreters: what it makes runs, and what it could not finish is not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from springtide.cli.app import tide
from springtide.local.environments.shelf import Environments, default_root

HANGING = """#!/bin/sh
case "$1" in
  --version) echo uv;;
  venv) for last; do :; done; mkdir -p "$last/bin";;
  *) echo "$$" > "$STARTED"; exec sleep 60;;
esac
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    return tmp_path


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A package with a program, made without any build tool or network."""
    path = tmp_path / "greeting-1.0-py3-none-any.whl"
    info = "greeting-1.0.dist-info"
    contents = {
        "greeting.py": "def main():\n    print('hello')\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\ngreet = greeting:main\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(tide, ["env", *map(str, arguments)])


def test_an_environment_is_made_listed_shown_and_deleted(home: Path, wheel: Path) -> None:
    (home / "examples").mkdir()
    made = run(
        "create", "greeter", "--pip", wheel, "--image", "team/greeter:*", "--files", f"{home}/examples:/examples"
    )
    assert made.exit_code == 0, made.output
    found = Environments(default_root()).for_image("team/greeter:7")
    assert found.name == "greeter"
    environment = {"PATH": f"{found.prefix}/bin"}
    answer = subprocess.run([f"{found.prefix}/bin/greet"], env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout == "hello\n"
    assert any(Path(sys.base_prefix).is_relative_to(path) for path in found.paths)
    assert "greeter" in run("list").output
    shown = run("show", "greeter").output
    assert "greeting 1.0" in shown
    assert f"{home}/examples at /examples" in shown
    assert run("delete", "greeter").output == "Deleted environment 'greeter'.\n"
    assert not Path(found.prefix).exists()
    assert "there is no environment 'greeter'\nThere are: tide" in run("show", "greeter").output


def test_an_environment_with_running_programs_is_replaced_beside_them(wheel: Path) -> None:
    assert run("create", "e", "--pip", wheel).exit_code == 0
    old = Environments(default_root()).find("e")
    assert old is not None
    with subprocess.Popen(["sleep", "60"], env={"PATH": f"{old.prefix}/bin:/usr/bin:/bin"}) as program:
        try:
            assert run("create", "e", "--replace", "--pip", wheel).exit_code == 0
            assert Path(old.prefix).exists()
        finally:
            program.kill()
    assert run("create", "e", "--replace", "--pip", wheel).exit_code == 0
    assert not Path(old.prefix).exists()


def test_a_maker_that_is_killed_leaves_nothing_that_counts(home: Path, wheel: Path) -> None:
    (home / "bin").mkdir()
    (home / "bin/uv").write_text(HANGING)
    (home / "bin/uv").chmod(0o755)
    started = home / "started"
    environment = dict(os.environ) | {"PATH": f"{home}/bin:/usr/bin:/bin", "STARTED": str(started)}
    command = [sys.executable, "-m", "springtide.cli", "env", "create", "e", "--pip", str(wheel)]
    with subprocess.Popen(command, env=environment) as maker:
        while not (started.exists() and started.read_text().strip()):
            assert maker.poll() is None
            time.sleep(0.01)
        maker.kill()
    os.kill(int(started.read_text()), signal.SIGKILL)
    assert Environments(default_root()).all() == []
    assert run("create", "e", "--pip", wheel).exit_code == 0
    assert len([entry for entry in (default_root() / "e").iterdir() if entry.is_dir()]) == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["create", "E"], "'E' cannot be a name"),
        (["create", "e", "torch"], "To install packages: --pip torch"),
        (["create", "e", "--files", "here"], "'here': write DIR:/absolute/path"),
        (["create", "e", "--files", "/nowhere:/x"], "/nowhere is not a directory"),
        (["create", "e", "--pip", "/nowhere/x.whl"], "cannot install /nowhere/x.whl"),
        (["delete", "e"], "there is no environment 'e'"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_made(arguments: list[str], complaint: str) -> None:
    finished = run(*arguments)
    assert finished.exit_code != 0
    assert complaint in finished.output
    assert Environments(default_root()).all() == []
