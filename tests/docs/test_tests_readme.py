# SPDX-License-Identifier: Apache-2.0
"""tests/README.md lists the folders of tests, and what covers each module that no test is named after."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

TESTS, SOURCE = ROOT / "tests", ROOT / "src" / "springtide"
_ROW = re.compile(r"^\| `([\w.]+)` \| (`.+`) \| (`.+`) \|$", re.MULTILINE)
_FOLDER = re.compile(r"^\| (`[\w`, ]+`) \| [^|`]", re.MULTILINE)
_NAME = re.compile(r"`([\w./]+)`")


def without_own_test() -> dict[str, list[str]]:
    """Modules by package that no test is named after, and that no test imports."""
    names = [path.stem.removeprefix("test_") for path in TESTS.rglob("test_*.py")]
    imports = "\n".join(
        line for path in TESTS.rglob("*.py") for line in path.read_text().splitlines() if "springtide" in line
    )
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if path.stem.startswith("__") or any(_is_of(name, path.stem) for name in names):
            continue
        package = ".".join(path.parent.relative_to(SOURCE).parts)
        prefix = re.escape(f"springtide.{package}")
        if not re.search(rf"{prefix}\.{path.stem}\b|from {prefix} import [^\n]*\b{path.stem}\b", imports):
            found.setdefault(package, []).append(path.stem)
    return found


def _is_of(test: str, module: str) -> bool:
    return test == module or test.startswith(f"{module}_") or test.endswith(f"_{module}")


def rows() -> list[tuple[str, str, str]]:
    return _ROW.findall((TESTS / "README.md").read_text())


def test_every_module_without_a_test_of_its_own_is_listed() -> None:
    assert {package: _NAME.findall(modules) for package, modules, _ in rows()} == without_own_test()


def test_what_covers_them_exists() -> None:
    named = {each for _, _, places in rows() for each in _NAME.findall(places)}
    assert [each for each in named if not (TESTS / each).exists()] == []


def test_every_folder_is_listed() -> None:
    page = (TESTS / "README.md").read_text()
    listed = {name for cell in _FOLDER.findall(page) for name in _NAME.findall(cell)}
    folders = {path.name for path in TESTS.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert folders <= listed
