# SPDX-License-Identifier: Apache-2.0
"""docs/architecture.md maps every package and where things are decided; both tables are compared with the tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, ROOT

SOURCE = ROOT / "src" / "springtide"
_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
_NAME = re.compile(r"`([\w./]+)`")


def rows(title: str) -> list[tuple[str, str, str]]:
    """The rows of the section's table, without its head."""
    section = dict(_SECTION.findall((DOCS / "architecture.md").read_text()))[title]
    return _ROW.findall(section)[1:]


def package_of(path: Path) -> str:
    return ".".join(path.parent.relative_to(SOURCE).parts)


def is_within(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


def importers() -> dict[str, str]:
    """From each package on the map to the cell that says who may import it."""
    return {package.strip("`"): cell for package, _, cell in rows("All packages")}


@cache
def imports() -> frozenset[tuple[str, str]]:
    """Which module imports from which package."""
    packages = {package_of(path) for path in SOURCE.rglob("*.py")}
    found = set()
    for path in SOURCE.rglob("*.py"):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for name in _imported(ast.parse(path.read_bytes())):
            found.add((module, name if name in packages else name.rpartition(".")[0]))
    return frozenset(found)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and is_within(node.module, "springtide"):
            for alias in node.names:
                yield f"{node.module}.{alias.name}".partition(".")[2]
            yield node.module.partition(".")[2]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if is_within(alias.name, "springtide"):
                    yield alias.name.partition(".")[2]


def test_every_package_is_on_the_map_and_nothing_else() -> None:
    packages = {package_of(path) for path in SOURCE.rglob("*.py")} - {""}
    assert [package.strip("`") for package, _, _ in rows("All packages")] == sorted(packages)


@pytest.mark.parametrize("package", importers())
def test_a_package_is_imported_only_by_those_the_map_names(package: str) -> None:
    named = (package, *_NAME.findall(importers()[package]))
    assert (
        sorted(
            module
            for module, imported in imports()
            if imported == package and not any(is_within(module, each) for each in named)
        )
        == []
    )


def test_every_importer_on_the_map_exists() -> None:
    named = {each for cell in importers().values() for each in _NAME.findall(cell)}
    places = {each: SOURCE.joinpath(*each.split(".")) for each in named}
    assert [each for each, place in places.items() if not (place.is_dir() or place.with_suffix(".py").is_file())] == []


@pytest.mark.parametrize(("module", "names"), [row[1:] for row in rows("Where is decided")])
def test_what_decides_is_where_the_page_says(module: str, names: str) -> None:
    source = (SOURCE / module.strip("`")).read_text()
    named = _NAME.findall(names)
    assert named
    assert [name for name in named if not re.search(rf"^ *(?:async )?def {name}\(|^{name}\b:", source, re.M)] == []
