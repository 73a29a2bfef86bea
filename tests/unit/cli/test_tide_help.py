# SPDX-License-Identifier: Apache-2.0
"""`tide --help`, and completion for kubectl."""

from __future__ import annotations

import importlib
import re

import click
import pytest
from click.testing import CliRunner

from springtide.cli.app import tide
from springtide.cli.command_table import ALIASES, COMMANDS, HEADINGS, OTHER_WORDS
from springtide.cli.completion import plugin

HAN = re.compile("[\u4e00-\u9fff]")
SCREEN = 60
"""Lines of a tall terminal."""


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: str) -> None:
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG", "KUBECONFIG", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def shown(*words: str) -> str:
    finished = CliRunner().invoke(tide, list(words), prog_name="tide")
    assert finished.exit_code == 0, finished.output
    return finished.output


def test_tide_alone_shows_the_help_with_first_steps() -> None:
    assert shown() == shown("--help")
    assert shown().index("tide up -d") < shown().index("Jobs:") < shown().index("Options:")


def test_commands_stand_under_their_headings() -> None:
    assert [heading.template for heading, _ in HEADINGS] == re.findall(
        r"^(Jobs|Changing jobs|Cluster|Environments and data|Other commands):$", shown(), re.MULTILINE
    )
    width = max(map(len, COMMANDS))
    for name, entry in COMMANDS.items():
        assert f"\n  {name:<{width}}  {entry.help.template}\n" in shown()


def test_every_command_is_where_the_table_says() -> None:
    for name, entry in COMMANDS.items():
        module, _, attribute = entry.place.partition(":")
        command = getattr(importlib.import_module(f"springtide.cli.{module}"), attribute)
        assert command.name == name


def test_the_help_is_chinese_on_request_and_by_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    said = shown("--lang", "zh", "--help")
    for line in re.findall(r"^  [a-z]+ {2,}.*$", said, re.MULTILINE):
        assert HAN.search(line), line
    assert HAN.search(shown("--lang", "zh", "delete", "--help").splitlines()[2])
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert shown() == said
    assert not HAN.search(shown("--lang", "en"))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_fits_a_screen(name: str) -> None:
    assert len(shown(name, "--help").splitlines()) <= SCREEN
    assert all(len(line) <= 80 for line in shown(name, "--help").splitlines())


def test_short_names_are_those_of_other_commands() -> None:
    context = click.Context(tide)
    for short, name in ALIASES.items():
        found = tide.get_command(context, short)
        assert found is not None
        assert found.name == name
    assert not set(OTHER_WORDS) & {*COMMANDS, *ALIASES}
    assert {name for names in OTHER_WORDS.values() for name in names} <= set(COMMANDS)


def test_kubectl_is_answered_in_cobras_form() -> None:
    assert plugin.answer(["whoa"]) == ["whoami\tShow who you are to the cluster.", ":4"]
    assert plugin.answer(["submit", "-f", ""]) == [":0"]
    assert plugin.answer(["status", "--data-dir", ""]) == [":16"]
