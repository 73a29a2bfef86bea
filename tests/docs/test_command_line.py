# SPDX-License-Identifier: Apache-2.0
"""What docs/command-line.md and its translation say is so: the commands run and print what is shown; commands, options
and exit codes are those there are."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from tests.docs import pages, transcripts
from tests.docs.pages import DOCS

from springtide.cli import app
from springtide.cli.api_failures import TIMEOUT_VARIABLE
from springtide.cli.errors import ExitCode

PAGES = ("command-line.md", "zh/command-line.md")
each_page = pytest.mark.parametrize("page", PAGES)


@pytest.mark.timeout(300)
def test_its_commands_run_and_print_what_is_shown(home: Path) -> None:
    printed = pages.run(DOCS / PAGES[0], home, patience=280, with_errors=True)
    shown_errors = [
        line for line in transcripts.lines(DOCS / PAGES[0]) if line.startswith(("error:", "cause:", "hint:"))
    ]
    assert len(shown_errors) == 3  # of a command that fails, which no block has
    assert transcripts.not_printed(DOCS / PAGES[0], printed) == shown_errors


def test_the_translation_has_the_same_commands_sections_and_rows() -> None:
    pages.assert_same(*PAGES)


def test_the_translation_shows_what_is_printed_for_chinese_readers() -> None:
    english, chinese = (transcripts.blocks(DOCS / page) for page in PAGES)
    assert [[transcripts.in_chinese(line) for line in block] for block in english] == chinese


@each_page
def test_its_links_lead_to_sections(page: str) -> None:
    pages.assert_links(DOCS / page)


def section(page: str, number: int) -> str:
    return (DOCS / page).read_text().split("\n## ")[number]


@each_page
def test_its_exit_codes_are_those_there_are(page: str) -> None:
    listed = re.findall(r"^\| (\d+) \|", (DOCS / page).read_text(), re.MULTILINE)
    assert [int(code) for code in listed] == sorted(ExitCode)


@each_page
def test_its_last_table_has_every_command(page: str) -> None:
    rows = re.findall(r"^\| (`[^|]+`) \|", section(page, section_count(page)), re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(
        program().list_commands(ctx())
    )


def section_count(page: str) -> int:
    return pages.sections(DOCS / page)


def program() -> click.Group:
    assert isinstance(app.tide, click.Group)
    return app.tide


def ctx() -> click.Context:
    return click.Context(program(), info_name="tide")


@each_page
def test_every_option_that_it_names_exists(page: str) -> None:
    known = set(options(program(), ctx())) | {"--help"}
    text = (DOCS / page).read_text()
    named = {each for code in re.findall(r"`([^`\n]+)`", text) for each in re.findall(r"(?<![\w-])--[\w-]+", code)}
    assert named - known == set()
    assert {TIMEOUT_VARIABLE, "KUBECONFIG", "NO_COLOR"} <= set(re.findall(r"`([A-Z_]+)`", text))


@each_page
def test_options_beside_a_command_are_its_own(page: str) -> None:
    used = re.findall(
        r"\btide (?:--lang \w+ )?([a-z]+)((?: [^`\n#|&]+)?)", "\n".join(body for _, body in pages.blocks(DOCS / page))
    )
    assert used
    for name, rest in used:
        command = program().get_command(ctx(), name)
        assert command is not None, name
        own = rest.split(" -- ")[0]
        given = set(re.findall(r"(?<!\S)--?[a-z][\w-]*", own))
        assert given <= set(options(command, ctx())), (name, given)


def options(command: click.Command, parent: click.Context) -> set[str]:
    """Of a command and of all below it."""
    found = {spelling for param in command.params for spelling in (*param.opts, *param.secondary_opts)}
    if isinstance(command, click.Group):
        context = click.Context(command, parent=parent)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            found |= options(inner, context)
    return found
