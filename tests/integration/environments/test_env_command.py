# SPDX-License-Identifier: Apache-2.0
"""`tide env` with real interpreters: what it makes runs, and what it could not finish is not there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from springtide.cli.app import tide
from springtide.cli.places import program
from springtide.local.environments import presets
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


ELASTIC = "import springtide.elastic; print(springtide.elastic.__file__)"
PRESET = """
[greeter]
description = "greets"
description_zh = "问候"
images = ["*/greeter"]
requirements = ["{wheel}"]
packages = 1
megabytes = 2
seconds = 5
horovod = true
programs = {{"/examples/greet.py" = "mnist"}}
workdir = "/examples"
variables = {{A = "1"}}
"""


@pytest.fixture
def preset(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of one that needs no network."""
    table = presets.read(PRESET.format(wheel=wheel))
    monkeypatch.setattr(presets, "table", lambda: table)
    return "greeter"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(tide, ["env", *map(str, arguments)])


@pytest.fixture(params=["uv", "pip"])
def installer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What installs packages: uv where there is one."""
    if request.param == "pip":
        folders = os.environ["PATH"].split(os.pathsep)
        monkeypatch.setenv("PATH", os.pathsep.join(each for each in folders if not shutil.which("uv", path=each)))
    elif shutil.which("uv") is None:
        pytest.skip("needs uv")


@pytest.mark.usefixtures("installer")
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


def test_every_environment_with_a_python_of_its_own_has_the_elastic_library(wheel: Path) -> None:
    made = run("create", "e", "--pip", wheel, "--image", "x", "--entrypoint", "greet now", "--cmd", '["a b"]')
    assert made.exit_code == 0, made.output
    found = Environments(default_root()).find("e")
    assert found is not None
    assert (found.entrypoint, found.cmd) == (("greet", "now"), ("a b",))
    for command in ([f"{found.prefix}/bin/tiderun", "--version"], [f"{found.prefix}/bin/python", "-I", "-c", ELASTIC]):
        answer = subprocess.run(command, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True)
        assert answer.stdout
    assert "springtide" in run("show", "e").output


def test_a_preset_is_made_once_and_says_what_it_takes(preset: str, wheel: Path) -> None:
    made = run("create", "--preset", preset)
    assert made.exit_code == 0, made.output
    first, *rest = made.output.splitlines()
    assert first == "Making environment 'greeter': greets"
    assert "  takes:     1 package, about 2 MB to fetch, less than a minute" in rest
    assert "  stand-ins: /examples/greet.py" in rest
    assert rest[-1] == "Pods that wait for it start by themselves; next: kubectl create -f JOB.yaml"
    found = Environments(default_root()).for_image("any.registry/team/greeter:7")
    assert (found.name, found.preset, found.workdir, found.env) == ("greeter", "greeter", "/examples", {"A": "1"})
    assert (Path(found.files[0].source) / "greet.py").is_file()
    assert Path(found.prefix, "bin", "horovodrun").is_file()
    for again in (["--preset", preset], ["--for", "team/greeter:1"], ["--for", "team/greeter."]):
        said = run("create", *again)
        assert said.exit_code == 0
        assert "already" in said.output
    assert Environments(default_root()).find("greeter") == found
    assert "there is an environment 'greeter' already" in run("create", "--preset", preset, "--env", "A=2").output


def test_options_add_to_a_preset(preset: str, wheel: Path) -> None:
    more = ("--image", "mine:1", "--env", "A=2", "--env", "B=3", "--workdir", "/work")
    made = run("create", "mine", "--for", "x/greeter", *more, "--pip", wheel)
    assert made.exit_code == 0, made.output
    found = Environments(default_root()).for_image("mine:1")
    assert (found.name, found.preset, found.workdir) == ("mine", "greeter", "/work")
    assert found.images == ("*/greeter", "mine:1")
    assert found.env == {"A": "2", "B": "3"}


def test_presets_are_listed_with_what_they_take(preset: str) -> None:
    listed = run("presets").output
    assert "greeter  (1 package, about 2 MB to fetch, less than a minute)\n  greets\n  images: */greeter" in listed
    assert f"Presets that can be made: greeter; see them: {program()} env presets" in run("list").output
    assert run("create", "--preset", preset).exit_code == 0
    assert "greeter  (made)" in run("presets").output
    assert "Presets that can be made" not in run("list").output


def test_without_a_package_index_it_is_said_what_helps(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(home / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    said = run("create", "e", "--pip", "no-such-package")
    assert said.exit_code == 1
    assert "cannot install no-such-package" in said.output
    assert "Where the package index cannot be reached: connect this machine to it, or set" in said.output


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
        (["create"], "name the environment, or choose a preset"),
        (["create", "--preset", "none"], "there is no preset 'none'\nThere are: horovod, "),
        (["create", "--for", "me/train:1"], "tide env create NAME --pip PACKAGE --image me/train:1"),
        (
            ["create", "--for", "x/mpi-operator:1"],
            "needs no environment\nIt is an image of mpi-operator, whose pods do",
        ),
        (
            ["create", "--for", "x/git-sync:3"],
            "needs no environment\nA stand-in for it is built in: pods of this image fetch",
        ),
        (["create", "--for", "x", "--preset", "horovod"], "--preset and --for contradict each other"),
        (["create", "e", "--cmd", "[1]"], "'[1]': a list holds strings alone"),
        (["create", "e", "--entrypoint", "a 'b"], "No closing quotation"),
        (["create", "e", "--env", "A"], "'A': write NAME=VALUE"),
        (["create", "e", "--image", ""], "it is empty, perhaps because of a variable that is not set"),
        (["create", "e", "--pip"], "Option '--pip' requires an argument"),
        (["create", "e", "--pip", "PACKAGE"], "PACKAGE stands for what your program needs"),
        (["create", "e", "--cmd", "COMMAND"], "write, for example, --cmd 'python train.py'"),
        (["create", "NAME", "--pip", "numpy"], "NAME stands for"),
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
