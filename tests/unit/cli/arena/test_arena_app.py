# SPDX-License-Identifier: Apache-2.0
"""The tree of commands: what a command line means, help, and errors. No command here reaches a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from springtide.cli.arena import command_tree, suggesting
from springtide.cli.arena.app import ROOT, run
from springtide.cli.arena.command_tree import Branch, located
from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.log_lines import Log
from springtide.cli.flags.pflag import FlagError


def branches(branch: Branch) -> Iterator[Branch]:
    yield branch
    for each in branch.commands:
        yield from branches(each)


@pytest.mark.parametrize(
    ("words", "command", "left"),
    [
        ([], "arena", []),
        (["get", "a"], "arena get", ["a"]),
        (["-n", "get", "get", "a"], "arena get", ["-n", "get", "a"]),
        (["--namespace=get", "ls"], "arena list", ["--namespace=get"]),
        (["submit", "-e", "A=1", "et", "x"], "arena submit etjob", ["-e", "A=1", "x"]),
        (["submit", "nope"], "arena submit", ["nope"]),
        (["--", "get"], "arena", ["--", "get"]),
        (["top", "node", "job"], "arena top node", ["job"]),
    ],
)
def test_a_command_is_found_between_flags(words: list[str], command: str, left: list[str]) -> None:
    found = located(ROOT, words)
    assert (found.shown, list(found.words)) == (command, left)


@pytest.mark.parametrize("branch", [each for each in branches(ROOT) if each.entry], ids=lambda each: each.entry)
def test_every_command_can_be_imported(branch: Branch) -> None:
    flags = branch.verb().flags
    names = [name for flag in (*flags, *command_tree.GLOBAL_FLAGS) for name in (flag.name, *flag.old_names)]
    shorts = [flag.short for flag in (*flags, *command_tree.GLOBAL_FLAGS) if flag.short]
    assert len(names) == len(set(names))
    assert len(shorts) == len(set(shorts))


@pytest.mark.parametrize("words", [[], ["--help"], ["help"], ["submit"], ["submit", "nope"], ["help", "get"]])
def test_help_is_printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run(words, Log())
    assert capsys.readouterr().out.partition("Usage:\n")[2].startswith("  arena")


def test_a_command_without_what_it_needs_prints_help_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ArenaError, match="not set job name"):
        run(["get"], Log())
    assert "arena get JOB" in capsys.readouterr().out


def test_a_mistyped_command_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ArenaError) as error:
        run(["listt"], Log())
    assert str(error.value) == 'unknown command "listt" for "arena"\n\nDid you mean this?\n\tlist\n'
    assert suggesting.meant("zzzzzz", ["list"]) == []
    assert suggesting.meant("sub", ["submit", "scalein"]) == ["submit"]


@pytest.mark.parametrize(
    "words", [["cron", "list", "-x"], ["model", "get", "--name", "m"], ["serve"], ["submit", "vj"]]
)
def test_what_is_not_here_says_what_to_use_instead(words: list[str]) -> None:
    with pytest.raises(ArenaError, match=r"is not part of Springtide: .*; "):
        run(words, Log())


def test_flags_are_checked_before_arguments() -> None:
    with pytest.raises(FlagError, match="unknown flag: --nope"):
        run(["get", "--nope"], Log())


def test_the_version_is_the_one_that_is_followed(capsys: pytest.CaptureFixture[str]) -> None:
    run(["version", "--short"], Log())
    assert capsys.readouterr().out.startswith("arena: v0.15.5+springtide-")


def test_bytes_that_no_object_can_hold_are_refused() -> None:
    with pytest.raises(ArenaError, match="not UTF-8"):
        run(["submit", "etjob", "--name=a", "echo \udcff"], Log())
