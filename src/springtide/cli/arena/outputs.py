# SPDX-License-Identifier: Apache-2.0
"""The flag `--output`: a table, or a document for programs, as Arena writes it."""

from __future__ import annotations

import sys
from typing import Any, Final

from springtide.cli.arena.errors import ArenaError
from springtide.cli.flags.pflag import Flag, Kind, Parsed
from springtide.messages.terminals import harmless
from springtide.views.pages import documents, formats

OUTPUT: Final = Flag("output", Kind.STRING, "format: wide, json or yaml", short="o", default="wide")
DOCUMENTS: Final = ("json", "yaml")


def chosen(line: Parsed) -> str:
    form = str(line.values[OUTPUT.name])
    if form not in ("wide", *DOCUMENTS):
        raise ArenaError("unknown output format,only support:[wide|json|yaml]")
    return form


def show(form: str, document: dict[str, Any] | list[dict[str, Any]]) -> None:
    """For programs, which get every byte; a terminal does not."""
    if form == "json":
        written = formats.json_text(document)
    elif isinstance(document, list):
        written = formats.yaml_text([documents.arena_yaml(each) for each in document])
    else:
        written = formats.yaml_text(documents.arena_yaml(document))
    print(harmless(written) if sys.stdout.isatty() else written, end="")


def show_page(page: str) -> None:
    """For people, with texts of anybody."""
    print(harmless(page), end="")
