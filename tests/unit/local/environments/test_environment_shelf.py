# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from springtide.local.environments import advice, environment, making, presets, shelf
from springtide.local.environments.environment import Environment, Files
from springtide.local.environments.making import Recipe
from springtide.local.environments.shelf import BusyError, Environments, LinkError
from springtide.local.environments.tools import MakingError, Probed, Tools


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "environments"


@pytest.fixture
def environments(root: Path) -> Environments:
    return Environments(root, Environment("tide", "/opt/tide"))


class Builder:
    """Stands in for uv: what it is told, and an environment that starts."""

    def __init__(self, fails_at: str = "") -> None:
        self.commands: list[Sequence[str]] = []
        self.fails_at = fails_at

    def __call__(self, command: Sequence[str]) -> int:
        self.commands.append(command)
        if self.fails_at in command and self.fails_at:
            return 2
        if "venv" in command:
            (Path(command[-1]) / "bin").mkdir(parents=True)
        return 0

    def probe(self, directory: Path) -> Probed:
        return Probed("3.12.1", (str(directory),), directory / "lib/python3.12/site-packages")

    def tools(self, uv: str = "uv") -> Tools:
        return Tools(uv, self, self.probe)


def make(environments: Environments, name: str = "e", fails_at: str = "", **wanted: object) -> Environment:
    replace = bool(wanted.pop("replace", False))
    recipe = Recipe(name, **wanted)  # type: ignore[arg-type]
    return making.make(environments, recipe, replace=replace, tools=Builder(fails_at).tools())


def versions(root: Path, name: str = "e") -> list[str]:
    return sorted(entry.name for entry in (root / name).iterdir() if entry.is_dir())


def test_an_image_finds_its_environment(environments: Environments) -> None:
    make(environments, "horovod", images=("horovod/*",))
    make(environments, "exact", images=("horovod/horovod:1",))
    assert environments.for_image("horovod/horovod:2").name == "horovod"
    assert environments.for_image("horovod/horovod:1").name == "exact"
    assert environments.for_image("other").name == "tide"


def test_without_any_environment_all_images_run_in_tides_own(environments: Environments) -> None:
    assert environments.all() == []
    assert environments.for_image("x").prefix == "/opt/tide"


def test_a_new_environment_is_seen_by_whoever_looked_before(root: Path, environments: Environments) -> None:
    other = Environments(root, environments.fallback)
    make(environments, images=("x",), workdir="/a")
    assert other.for_image("x").workdir == "/a"
    make(environments, images=("x",), workdir="/b", replace=True)
    assert other.for_image("x").workdir == "/b"


def test_making_one_anew_uses_a_fresh_directory(root: Path, environments: Environments) -> None:
    first = make(environments, requirements=("six",))
    second = make(environments, requirements=("six",), replace=True)
    assert first.prefix != second.prefix
    assert versions(root) == [Path(second.prefix).name]


def test_an_old_version_stays_while_a_pod_runs_in_it(
    root: Path, environments: Environments, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make(environments, requirements=("six",))
    monkeypatch.setattr(shelf, "in_use", lambda directory: True)
    second = make(environments, requirements=("six",), replace=True)
    assert len(versions(root)) == 2
    assert set(environments.remove("e")) == {Path(first.prefix), Path(second.prefix)}
    assert environments.find("e") is None
    monkeypatch.setattr(shelf, "in_use", lambda directory: False)
    assert environments.remove("e") == []
    assert not (root / "e").exists()


def test_nothing_half_made_is_left(root: Path, environments: Environments) -> None:
    with pytest.raises(MakingError, match="cannot install six: uv ended with status 2"):
        make(environments, fails_at="install", requirements=("six",))
    assert versions(root) == []
    assert environments.find("e") is None


def test_a_failed_replacement_leaves_the_old_one(environments: Environments) -> None:
    old = make(environments, requirements=("six",))
    with pytest.raises(MakingError):
        make(environments, fails_at="install", requirements=("seven",), replace=True)
    assert environments.find("e") == old
    assert Path(old.prefix).is_dir()


def test_what_a_killed_maker_left_is_swept_away(root: Path, environments: Environments) -> None:
    (root / "e/20260101-000000-dead/bin").mkdir(parents=True)
    assert environments.all() == []
    made = make(environments, requirements=("six",))
    assert versions(root) == [Path(made.prefix).name]


def test_two_makers_do_not_meet(environments: Environments) -> None:
    with environments.lock("e"), pytest.raises(MakingError, match="another tide is making 'e' right now"):
        make(environments)
    with environments.lock("e"), pytest.raises(BusyError):
        environments.remove("e")


def test_a_second_one_of_a_name_is_refused(environments: Environments) -> None:
    make(environments)
    with pytest.raises(MakingError, match=r"there is an environment 'e' already\nMake it anew: .* --replace"):
        make(environments)


def test_without_packages_it_is_tides_own_with_other_files(environments: Environments, tmp_path: Path) -> None:
    made = make(environments, files=(Files(str(tmp_path), "/examples"),), workdir="/examples")
    assert made.prefix == sys.prefix
    assert made.paths == environment.own().paths


def test_requirements_are_remembered(environments: Environments, tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("six\n")
    made = make(environments, requirements=("torch>=2",), requirement_files=(tmp_path / "r.txt",))
    assert made.requirements == ("torch>=2", f"-r {tmp_path}/r.txt")


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        ({"name": "A"}, "'A' cannot be a name"),
        ({"name": "../x"}, "cannot be a name"),
        ({"name": "tide"}, "cannot be a name"),
        ({"name": "e\n"}, "cannot be a name"),
        ({"name": "$(touch x)"}, "cannot be a name"),
        ({"name": "/tmp/e"}, "cannot be a name"),
        ({"name": ".."}, "cannot be a name"),
        ({"name": "e" * 10_000}, r"^'e{512}…' cannot be a name"),
        ({"images": ("a\x1b[2J",)}, r"'a\\x1b\[2J' cannot be a pattern of images"),
        ({"images": ("a b",)}, "cannot be a pattern of images"),
        ({"images": ("x", "[" * 10_000)}, r"^'\[{512}…' cannot be a pattern of images"),
        ({"workdir": "here"}, "'here' must be an absolute path inside the pod"),
        ({"files": (Files("/", "/"),)}, "not / itself"),
        ({"files": (Files("/nowhere/at/all", "/x"),)}, "/nowhere/at/all is not a directory"),
        ({"requirement_files": (Path("/nowhere/r.txt"),)}, "/nowhere/r.txt is not there"),
    ],
)
def test_what_makes_no_sense_is_refused(environments: Environments, wanted: dict[str, object], complaint: str) -> None:
    with pytest.raises(MakingError, match=complaint):
        make(environments, **wanted)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["../outside", "..", ".", "", "/", "a/../../outside", "e" * 10_000, "e\0", "\x1b[2J"])
def test_what_cannot_be_a_name_leads_nowhere(environments: Environments, tmp_path: Path, name: str) -> None:
    make(environments)
    outside = tmp_path / "outside"
    (outside / "precious").mkdir(parents=True)
    for place in (outside, tmp_path, environments.root):
        shutil.copy(environments.root / "e/environment.json", place)
    assert environments.find(name) is None
    assert environments.find(str(outside)) is None


def test_what_a_link_leads_to_is_left_alone(root: Path, environments: Environments, tmp_path: Path) -> None:
    (tmp_path / "outside/precious").mkdir(parents=True)
    root.mkdir()
    (root / "e").symlink_to(tmp_path / "outside")
    with pytest.raises(
        MakingError, match=r"is a symbolic link, and tide changes nothing behind it\nRemove the link: rm "
    ):
        make(environments)
    with pytest.raises(LinkError):
        environments.remove("e")
    made = make(environments, "f", requirements=("six",))
    (root / "f/20260101-000000-dead").symlink_to(tmp_path / "outside")
    assert environments.remove("f") == []
    assert (tmp_path / "outside/precious").is_dir()
    assert not Path(made.prefix).exists()


def test_without_uv_the_standard_library_makes_it(environments: Environments) -> None:
    builder = Builder()
    making.make(environments, Recipe("e", ("six",)), tools=builder.tools(""))
    made, installed, compiled = builder.commands
    assert made[1:3] == ["-m", "venv"]
    assert installed[1:4] == ["-m", "pip", "install"]
    assert compiled[1:3] == ["-m", "compileall"]


def test_a_python_that_is_not_there_is_said(environments: Environments) -> None:
    with pytest.raises(MakingError, match=r"there is no python3\.99 on this machine"):
        making.make(environments, Recipe("e", python="3.99"), tools=Builder().tools(""))


def test_a_damaged_card_is_no_environment(root: Path, environments: Environments) -> None:
    make(environments)
    (root / "e/environment.json").write_text("{")
    assert environments.all() == []


def test_every_directory_that_python_reads_is_named(tmp_path: Path) -> None:
    (tmp_path / "real/lib").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    found = environment.outermost([f"{tmp_path}/link", f"{tmp_path}/real/lib", f"{tmp_path}/none", "relative"])
    assert found == (f"{tmp_path}/link", f"{tmp_path}/real")
    assert any(Path(sys.prefix).is_relative_to(path) for path in environment.own().paths)


def test_a_missing_sshd_is_the_machines() -> None:
    assert advice.explain_missing("mpi:1", Environment("e", "/e"), "/usr/sbin/sshd") == (
        'image "mpi:1" is not pulled, and pods use the sshd of this machine. '
        "Install it: apt-get install openssh-server, or the package of your system that has it"
    )


def test_a_missing_command_names_image_environment_and_cure() -> None:
    assert advice.explain_missing("horovod/horovod:0.28", Environment("tide", "/opt/tide")) == (
        'image "horovod/horovod:0.28" is not pulled but runs in the environment that runs '
        "tide (/opt/tide). Correct the command, or make an environment that has it: "
        "tide env create horovod --pip PACKAGE --image 'horovod/horovod:*'"
    )
    made = Environment(
        "e", "/e/1", ("mpi/*",), (Files("/src", "/examples"),), "/examples", (), "", ("a>1", "b", "-r r")
    )
    assert advice.explain_missing("x", made).endswith(
        'runs in environment "e" (/e/1). Correct the command, or make the environment anew with what is missing: '
        "tide env create e --replace "
        "--pip 'a>1' b PACKAGE -r r --image 'mpi/*' --files /src:/examples --workdir /examples"
    )


def test_the_cure_for_an_environment_of_a_preset_keeps_what_was_added_to_it() -> None:
    of = presets.table()["pytorch"]
    made = Environment(
        "digits",
        "/e/1",
        (*of.images, "me/digits"),
        (Files("/e/1/files", "/opt/mnist", copied=True), Files("/home/me/src", "/src")),
        "/src",
        requirements=(*of.requirements, "einops"),
        entrypoint=of.entrypoint,
        env={**of.variables, "SEED": "1"},
        preset="pytorch",
    )
    assert advice.explain_missing("me/digits", made, "torchrn").endswith(
        ": tide env create digits --replace --preset pytorch --pip einops PACKAGE --image me/digits "
        "--files /home/me/src:/src --workdir /src --env SEED=1"
    )


@pytest.mark.parametrize(
    ("program", "preset"), [("torchrun", "pytorch"), ("/usr/bin/mpirun", "mpi"), ("horovodrun", "horovod")]
)
def test_the_cure_for_a_missing_command_of_a_preset_names_the_preset(program: str, preset: str) -> None:
    command = f"tide env create train --preset {preset} --image 'me/train:*'"
    assert advice.explain_absent("me/train:1", program).endswith(f" and the pod starts by itself: {command}")
    assert advice.explain_missing("me/train:1", Environment("tide", "/opt/tide"), program).endswith(command)


def test_the_daemon_of_open_mpi_is_told_where_it_is(tmp_path: Path) -> None:
    environment = Environment("mpi", str(tmp_path))
    assert environment.variables == {}
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "orted").touch()
    assert environment.variables == {"OPAL_PREFIX": str(tmp_path)}
