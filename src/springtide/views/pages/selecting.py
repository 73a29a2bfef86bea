# SPDX-License-Identifier: Apache-2.0
"""Values chosen from documents: kubectl's `-o jsonpath=…` and `-o custom-columns=…`.

    {.name}{"\\t"}{.instances[*].node}          the values of a path, with blanks between them
    {range .instances[?(@.chief==true)]}{.name}{"\\n"}{end}
    NAME:.name,STEP:.progress.step               custom columns: heads and paths

A path without braces counts as one with them. In a list of jobs `{.items[*].name}` and `{[*].name}` mean the same. A
missing value is empty, or `<none>` in a column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from springtide.api.json_paths import Budget, JSONPath, PathError
from springtide.views.pages.tables import Column, table

_VALUES: Final = 10_000_000
"""The budget of one template: more values than any list of jobs has."""
_NONE: Final = "<none>"
_ACTION: Final = re.compile(r"""\{((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^{}"'])*)\}""")
_QUOTED: Final = re.compile(r""""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'""")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


class SelectionError(ValueError):
    """The template is invalid, or does not fit the document."""


@dataclass(frozen=True, slots=True)
class _Range:
    path: JSONPath
    body: Sequence[str | JSONPath | _Range]


_Part: TypeAlias = str | JSONPath | _Range


class Template:
    """A compiled `jsonpath`, for a document or a list of them."""

    __slots__ = ("_listed", "_parts")

    def __init__(self, text: str, *, listed: bool = False) -> None:
        bare = "{" not in text and text[:1] in (".", "[", "$", "@")
        self._listed = listed
        self._parts = _parts(_tokens(f"{{{text}}}" if bare else text), _ITEMS if listed else "", inside=False)

    def shown(self, document: Any) -> str:
        try:
            return _shown(self._parts, {"items": document} if self._listed else document, Budget(_VALUES))
        except PathError as error:
            raise SelectionError(str(error)) from None


_ITEMS: Final = ".items"
_Token: TypeAlias = tuple[str, str]
"""What it is, `text`, `path`, `range` or `end`, and the text or path."""


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    for action in _ACTION.finditer(text):
        yield _literal(text[position : action.start()])
        yield _action(action[1].strip())
        position = action.end()
    yield _literal(text[position:])


def _literal(text: str) -> _Token:
    if "{" in text or "}" in text:
        raise SelectionError(f"a brace is not closed or not opened: {text}")
    return "text", text


def _action(inside: str) -> _Token:
    if quoted := _QUOTED.fullmatch(inside):
        given = quoted[1] if quoted[1] is not None else quoted[2]
        return "text", re.sub(r"\\(.)", lambda each: _ESCAPES.get(each[1], each[1]), given)
    if inside == "end":
        return "end", ""
    word, _, path = inside.partition(" ")
    return ("range", path.strip()) if word == "range" else ("path", inside)


def _parts(tokens: Iterator[_Token], items: str, *, inside: bool) -> list[_Part]:
    """`items` leads to the list that a path begins in which starts with a bracket."""
    found: list[_Part] = []
    for what, text in tokens:
        path = f"{items}{text}" if text.startswith("[") else text
        if what == "text":
            found.append(text)
        elif what == "path":
            found.append(_path(path))
        elif what == "range":
            found.append(_Range(_path(path), _parts(tokens, "", inside=True)))
        elif inside:
            return found
        else:
            raise SelectionError("{end} without {range}")
    if inside:
        raise SelectionError("{range} without {end}")
    return found


def _path(text: str) -> JSONPath:
    try:
        return JSONPath(text)
    except PathError as error:
        raise SelectionError(f"{text}: {error}") from None


def _shown(parts: Sequence[_Part], document: Any, budget: Budget) -> str:
    written = []
    for part in parts:
        if isinstance(part, str):
            written.append(part)
        elif isinstance(part, JSONPath):
            written.append(" ".join(map(_value, part.find(document, budget))))
        else:
            written += [_shown(part.body, each, budget) for each in part.path.find(document, budget)]
    return "".join(written)


def _value(value: Any) -> str:
    match value:
        case str():
            return value
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case dict() | list():
            return msgspec.json.encode(value).decode()
    return str(value)


def custom_columns(text: str, documents: Sequence[Any]) -> str:
    """The table of `-o custom-columns`, without a newline at the end."""
    parts = [part.partition(":") for part in _columns(text)]
    if not all(head and path for head, _, path in parts):
        raise SelectionError(f"each column needs a head and a path, as in NAME:.name: {text}")
    paths = [_path(path.strip().removeprefix("{").removesuffix("}")) for _, _, path in parts]
    rows = [[_cell(path, document) for path in paths] for document in documents]
    return table([Column(head) for head, _, _ in parts], rows)


def _columns(text: str) -> list[str]:
    """Split at commas, but not inside of brackets."""
    return re.split(r",(?![^\[\]]*\])", text)


def _cell(path: JSONPath, document: Any) -> str:
    try:
        found = path.find(document, Budget(_VALUES))
    except PathError as error:
        raise SelectionError(str(error)) from None
    return ",".join(_NONE if value is None else _value(value) for value in found) if found else _NONE
