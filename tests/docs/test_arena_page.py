# SPDX-License-Identifier: Apache-2.0
"""What docs/arena.md and its translation say is so: the commands run and print what is shown; flags and commands are
those there are, and those that do less than their names say are listed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs import pages, transcripts
from tests.docs.pages import DOCS

from springtide.cli.arena import app
from springtide.cli.arena.command_tree import GLOBAL_FLAGS, Branch
from springtide.messages.zh import TRANSLATIONS

PAGES = ("arena.md", "zh/arena.md")
DOCUMENT = pages.ROOT / "tests/e2e/files/arena_document.txt"
each_page = pytest.mark.parametrize("page", PAGES)
_INFO = re.compile(r'time="[^"]+" level=info msg="((?:[^"\\]|\\.)*)"')
_WITHOUT_EFFECT = re.compile(r"(--[\w-]+) (?:has no effect|changes nothing|does not )")


@pytest.mark.timeout(400)
def test_its_commands_run_and_print_what_is_shown(home: Path) -> None:
    printed = pages.run(DOCS / PAGES[0], home, patience=380, with_errors=True)
    assert transcripts.not_printed(DOCS / PAGES[0], _INFO.sub(r"INFO[0000] \1", printed)) == []


def test_its_commands_are_those_of_the_document() -> None:
    commands = re.findall(r"^%%% command\n(.*?)\n%%% output", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    page = "".join(body for _, body in pages.blocks(DOCS / PAGES[0]))
    changing = [command for command in commands if not command.startswith(("arena get", "arena logs"))]
    assert len(changing) == 3
    assert [command for command in changing if command not in page] == []


def test_the_translation_has_the_same_commands_sections_and_rows() -> None:
    pages.assert_same(*PAGES)


def test_both_show_the_same_output() -> None:
    assert transcripts.blocks(DOCS / PAGES[0]) == transcripts.blocks(DOCS / PAGES[1])


@each_page
def test_its_links_lead_to_sections(page: str) -> None:
    pages.assert_links(DOCS / page)


def flags(branch: Branch) -> set[str]:
    own = branch.verb().flags if branch.entry else ()
    names = {name for flag in own for name in (flag.name, *flag.old_names)}
    return names.union(*(flags(child) for child in branch.commands))


@each_page
def test_every_flag_in_its_table_exists(page: str) -> None:
    known = flags(app.ROOT) | {flag.name for flag in GLOBAL_FLAGS}
    listed = {flag for row in _rows(page) for flag in re.findall(r"`--([\w-]+)`", row)}
    assert listed
    assert listed - known == set()


@each_page
def test_flags_of_which_submit_says_that_they_have_no_effect_are_listed(page: str) -> None:
    said = {found[1] for template in TRANSLATIONS if (found := _WITHOUT_EFFECT.match(template))}
    assert len(said) >= 5
    assert [flag for flag in sorted(said) if not any(f"`{flag}`" in row for row in _rows(page))] == []


def _rows(page: str) -> list[str]:
    """The first cells of the table of flags."""
    section = (DOCS / page).read_text().split("\n## ")[6]
    return re.findall(r"^\| ([^|]*`--[^|]+) \|", section, re.MULTILINE)


@each_page
def test_commands_that_are_not_here_are_named(page: str) -> None:
    section = (DOCS / page).read_text().split("\n## ")[7]
    named = set(re.findall(r"`(\w+)`", section)) - {"submit"}
    assert named == {branch.name for branch in _all(app.ROOT) if ".instead:" in branch.entry}


def _all(branch: Branch) -> list[Branch]:
    return [branch, *(each for child in branch.commands for each in _all(child))]
