# SPDX-License-Identifier: Apache-2.0
"""What docs/adding-a-kind.md and its translation say is so: files, answers, abilities, and the worked example."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, ROOT, sections

from springtide.jobs import kind as asked
from springtide.jobs.kind import Kind

PAGES = ("adding-a-kind.md", "zh/adding-a-kind.md")
EXAMPLES = ("tests/unit/jobs/toy.py", "tests/unit/jobs/test_toy.py")
_CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `(\w+)` \|(.*)\|$", re.MULTILINE)
pages = pytest.mark.parametrize("page", PAGES)


def text(page: str) -> str:
    return (DOCS / page).read_text()


def rows(page: str) -> dict[str, str]:
    return dict(_ROW.findall(text(page)))


def abilities() -> dict[str, set[str]]:
    """Attributes of a kind that are None unless it sets them, and the methods of what it sets them to."""
    found = {}
    for name, annotation in Kind.__annotations__.items():
        protocol = getattr(asked, str(annotation).removesuffix(" | None"))
        found[name] = {method for method, _ in inspect.getmembers(protocol, inspect.isfunction) if method[0] != "_"}
    return found


@pages
def test_every_file_that_is_named_exists(page: str) -> None:
    named = set(re.findall(r"`((?:src|tests|deploy)/[\w./-]+|pyproject\.toml)`", text(page)))
    of_mpi = {each.replace("NAMEjob", "mpijob").replace("/NAME/", "/mpi/") for each in named}
    assert not [each for each in of_mpi if not (ROOT / each).exists()]


@pages
def test_every_answer_and_every_ability_is_in_a_table_with_its_methods(page: str) -> None:
    found = rows(page)
    wanted = {name: " ".join(sorted(methods)) for name, methods in abilities().items()}
    assert found.keys() == set(Kind.__abstractmethods__) | wanted.keys()
    for name, methods in wanted.items():
        said = re.findall(r"`(\w+)`", found[name].partition("|")[0])
        assert " ".join(sorted(said)) == methods


@pages
def test_the_example_is_that_of_the_tests(page: str) -> None:
    sources = [(ROOT / each).read_text() for each in EXAMPLES]
    blocks = _CODE.findall(text(page))
    assert blocks
    assert not [block for block in blocks if not any(block in source for source in sources)]


def test_both_languages_show_the_same() -> None:
    english, chinese = PAGES
    assert _CODE.findall(text(english)) == _CODE.findall(text(chinese))
    assert rows(english).keys() == rows(chinese).keys()
    assert sections(DOCS / Path(english)) == sections(DOCS / Path(chinese))
