# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

import springtide
from springtide.cli import options, places, speaking
from springtide.cli.app import tide
from springtide.cli.cluster import messages
from springtide.local.apiserver import paths
from springtide.local.datadir import DataDir


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("XDG_DATA_HOME", "XDG_STATE_HOME", "KUBECONFIG"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_a_cluster_is_found_by_its_name(home: Path) -> None:
    assert options.chosen(None, None).place.path == home / ".local/share/springtide/clusters/springtide"
    assert options.chosen("two", None).place.path == home / ".local/share/springtide/clusters/two"


def test_the_data_home_can_be_moved(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "elsewhere"))
    assert options.chosen(None, None).place.path == home / "elsewhere/springtide/clusters/springtide"


def test_a_directory_remembers_its_name(home: Path) -> None:
    DataDir(home).describe("second", 1)
    assert options.chosen(None, home).name == "second"
    assert options.chosen("third", home).name == "third"


@pytest.mark.parametrize(
    ("name", "data_dir", "flags"),
    [
        (None, None, ""),
        ("springtide", None, ""),
        ("two", None, " --name two"),
        (None, "a dir", " --data-dir 'a dir'"),
        ("two", "/d", " --name two --data-dir /d"),
    ],
)
def test_hints_name_the_same_cluster(name: str | None, data_dir: str | None, flags: str) -> None:
    assert options.chosen(name, Path(data_dir) if data_dir else None).flags == flags


@pytest.mark.parametrize("name", ["", "..", "../x", "A", "a_b", "-a", "a-", "a" * 64, "a\n"])
def test_a_name_that_would_be_no_good_name_of_a_directory_is_refused(name: str) -> None:
    finished = CliRunner().invoke(tide, ["status", "--name", name])
    assert finished.exit_code == 2
    assert "small letters" in finished.output


def test_the_user_s_kubeconfig_is_the_one_kubectl_writes_to(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert places.user_kubeconfig() == home / ".kube/config"
    monkeypatch.setenv("KUBECONFIG", f"{home}/a::{home}/b")
    assert places.user_kubeconfig() == home / "b"
    (home / "a").touch()
    assert places.user_kubeconfig() == home / "a"


def test_a_kubeconfig_in_a_closed_folder_is_passed_over(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(path: Path, **_: bool) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setenv("KUBECONFIG", f"{home}/theirs/config")
    monkeypatch.setattr(Path, "stat", closed)
    monkeypatch.setattr(os, "stat", closed)
    assert places.user_kubeconfig() == home / "theirs/config"


@pytest.mark.parametrize("arguments", [["version"], ["--version"]])
def test_the_version_names_the_kubernetes_that_is_followed(arguments: list[str]) -> None:
    said = CliRunner().invoke(tide, arguments).output
    assert said == f"springtide {springtide.__version__} (follows Kubernetes {springtide.KUBERNETES_VERSION})\n"
    assert paths.KUBERNETES[2] == springtide.KUBERNETES_VERSION


def test_every_command_has_a_complete_help() -> None:
    context = click.Context(tide)
    for name in tide.list_commands(context):
        command = tide.get_command(context, name)
        assert command is not None
        assert command.help
        assert all(parameter.help for parameter in command.params if isinstance(parameter, click.Option))
        assert CliRunner().invoke(tide, [name, "--help"]).exit_code == 0


def test_commands_are_completed() -> None:
    complete = ShellComplete(tide, {}, "tide", "_TIDE_COMPLETE")
    assert [item.value for item in complete.get_completions([], "")] == tide.list_commands(click.Context(tide))
    assert [item.value for item in complete.get_completions([], "do")] == ["down", "doctor"]
    assert "--data-dir" in [item.value for item in complete.get_completions(["up"], "--")]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["nod"], "Did you mean 'node'?"),
        (["dwon"], "Did you mean 'down'?"),
        (["start"], "Did you mean 'up' or 'resume'?"),
        (["stop"], "Did you mean 'down' or 'suspend'?"),
        (["ps"], "Did you mean 'list'?"),
        (["rm", "bert"], "Did you mean 'delete'?"),
        (["describe"], "Did you mean 'get'?"),
        (["node", "drian"], "Did you mean 'drain'?"),
        (["env", "crate"], "Did you mean 'create'?"),
        (["env", "remove", "x"], "Did you mean 'delete'?"),
        (["node", "delete", "x"], "Did you mean 'remove'?"),
        (["down", "lab"], "To name the cluster: tide down --name lab"),
        (["up", "--no-operater"], "'--no-operator'"),
        (["status", "--nam", "x"], "Did you mean '--name'?"),
        (["example", "mpjob"], "'mpjob' is not 'mpijob'"),
    ],
)
def test_a_mistyped_word_is_answered_with_the_one_that_was_meant(typed: list[str], meant: str) -> None:
    refused = CliRunner().invoke(tide, typed)
    assert refused.exit_code == 2
    assert meant in refused.output


def test_a_mistyped_cluster_is_answered_with_one_that_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    place = options.chosen("vision", None).place
    place.path.mkdir(parents=True)
    place.describe("vision", 1)
    assert speaking.shown(options.chosen("vison", None).state()).endswith("; did you mean 'vision'?")
    assert speaking.shown(options.chosen("other", None).state()).endswith("/other")


@pytest.mark.parametrize(
    ("error", "first_line"),
    [
        (OSError(98, "Address already in use"), "port 7 is taken: another program listens on it"),
        (
            OSError(37, "No locks available"),
            "files in /d cannot be locked, as on some network file systems: No locks available",
        ),
        (OSError(13, "Permission denied"), "port 7 may only be used by root"),
        (OSError(13, "Permission denied", "/d/lock"), "cannot write to /d: Permission denied"),
        (OSError(30, "Read-only file system", "/d/lock"), "cannot write to /d: Read-only file system"),
        (OSError(28, "No space left on device"), "the disk that holds /d is full"),
        (OSError(122, "Disk quota exceeded"), "the disk that holds /d is full"),
        (OSError(24, "Too many open files"), "cannot start: [Errno 24] Too many open files"),
    ],
)
def test_what_keeps_a_cluster_from_starting_is_said_plainly(error: OSError, first_line: str) -> None:
    said = speaking.shown(messages.explained(error, options.chosen(None, Path("/d")), 7))
    assert said.splitlines()[0] == first_line
