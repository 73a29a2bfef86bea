# SPDX-License-Identifier: Apache-2.0
"""From command lines to what they ask for. The command lines are those whose objects Arena's own charts rendered."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.manifests import flags as recorded

from springtide.cli.arena.command_tree import GLOBAL_FLAGS
from springtide.cli.flags import submissions, tables
from springtide.cli.flags.pflag import parsed
from springtide.manifests.submissions.problems import Problem
from springtide.manifests.submissions.submission import (
    DeepSpeedJob,
    EtJob,
    LauncherJob,
    MpiJob,
    PyTorchJob,
    SshKeys,
    Submission,
    TfJob,
    User,
)

KINDS: Final[dict[str, type[Any]]] = {
    "etjob": EtJob,
    "deepspeedjob": DeepSpeedJob,
    "mpijob": MpiJob,
    "pytorchjob": PyTorchJob,
    "tfjob": TfJob,
}
CASES: Final = [(kind, name) for kind in KINDS for name in recorded.recorded(kind)]
USER: Final = User(name="kubernetes-admin", id="0123456789abcdef0123456789abcdef")


def asked(kind: type[Submission], *words: str, **given: Any) -> Any:
    line = parsed((*GLOBAL_FLAGS, *tables.FLAGS[kind]), words)
    fields = {"namespace": "default", "user": USER, "command": " ".join(line.arguments), **given}
    return submissions.submission(kind, line.values, fields)


def test_the_recorded_command_lines_are_many() -> None:
    assert len(CASES) > 100


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_command_line_asks_for_what_arena_renders(kind: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "randbelow", lambda limit: 123456789)
    first = next(yaml.safe_load_all((recorded.RENDERED / kind / f"{name}.yaml").read_text()))
    word, *words = first["submit"]
    assert word == kind
    keys = {"ssh_keys": SshKeys(private=b"key", public=b"key")} if issubclass(KINDS[kind], LauncherJob) else {}
    assert asked(KINDS[kind], *words, **keys) == recorded.submissions(KINDS[kind])[name]


@pytest.mark.parametrize("kind", KINDS.values())
def test_defaults_are_those_of_the_submission(kind: type[Any]) -> None:
    assert asked(kind, "--name=a", "true") == kind(name="a", namespace="default", user=USER, command="true")


@given(command=st.text(), value=st.text(), words=st.lists(st.text()))
def test_any_text_arrives_as_it_is(command: str, value: str, words: list[str]) -> None:
    found = asked(EtJob, "--name", value, "-e", f"A={value}", "--image", value, "--", command, *words)
    assert found.command == " ".join([command, *words])
    assert (found.name, found.image, found.variables) == (value, value, {"A": value})


def test_arenas_config_file_counts_where_no_flag_does() -> None:
    given = {"image_pull_secrets": ("one",)}
    assert asked(EtJob, "--name=a", "true", **given).image_pull_secrets == ("one",)
    assert asked(EtJob, "--name=a", "--image-pull-secret=two", "true", **given).image_pull_secrets == ("two",)


def test_config_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_text("a: 1\n# é\n")
    (found,) = asked(EtJob, "--name=a", f"--config-file={tmp_path}/a.conf:/etc/train/b.conf", "x").config_files
    assert (found.directory, found.name, found.content) == ("/etc/train", "b.conf", "a: 1\n# é\n")
    (found,) = asked(EtJob, "--name=a", f"--config-file={tmp_path}/a.conf", "x").config_files
    assert (found.directory, found.name) == (str(tmp_path), "a.conf")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--config-file=/nowhere", "failed to validate command args: --config-file /nowhere: .*No such file"),
        ("--data=claim", "failed to validate command args: dataset claim has incorrect format"),
        ("--env=A", "failed to validate command args: --env: "),
        ("--device=nvidia.com/gpu=1", "failed to validate command args: please use '--gpus 1' instead of"),
        ("--toleration=gpu", "failed to validate command args: --toleration: "),
    ],
)
def test_what_cannot_be_understood_is_an_error_with_its_flag(word: str, message: str) -> None:
    with pytest.raises(Problem, match=message):
        asked(EtJob, "--name=a", word, "true")
