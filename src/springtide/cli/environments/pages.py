# SPDX-License-Identifier: Apache-2.0
"""What `tide env list` and `tide env show` print."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

from springtide.cli import speaking
from springtide.local.environments.environment import OWN, Environment
from springtide.messages import Text, text
from springtide.views.pages.tables import display_width

_ALL_OTHERS: Final = text("all others")
"""The images of tide's own environment."""
_LABEL: Final = 10


def joined(parts: tuple[str, ...]) -> str:
    return ", ".join(parts) or "-"


def table(made: Sequence[Environment], fallback: Environment) -> str:
    """`fallback` is tide's own environment."""
    rows = [("NAME", "PYTHON", "IMAGES", "PACKAGES")]
    rows += [(each.name, each.python, joined(each.images), joined(each.requirements)) for each in made]
    others, packages = speaking.shown(_ALL_OTHERS), speaking.shown(text("those of tide itself"))
    rows.append((OWN, fallback.python, others, packages))
    widths = [max(display_width(row[column]) for row in rows) for column in range(3)]
    return "\n".join("  ".join([*map(_padded, row, widths), row[3]]).rstrip() for row in rows)


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - display_width(cell))


def facts(environment: Environment, *, own: bool) -> str:
    """`own` if it is the one that runs tide."""
    found = _facts(environment, own=own)
    return "\n".join(f"{label:<{_LABEL}} {speaking.shown(fact)}" for label, fact in found)


def _facts(found: Environment, *, own: bool) -> Iterator[tuple[str, Text]]:
    yield "Name:", _as_is(found.name)
    yield "Python:", _as_is(found.python)
    yield "Directory:", _as_is(found.prefix)
    yield "Images:", _ALL_OTHERS if own else _as_is(joined(found.images))
    yield "Workdir:", _as_is(found.workdir or "/")
    if found.preset:
        yield "Preset:", _as_is(found.preset)
    if found.entrypoint:
        yield "Entrypoint:", _as_is(shlex.join(found.entrypoint))
    if found.cmd:
        yield "Cmd:", _as_is(shlex.join(found.cmd))
    for variable, value in found.env.items():
        yield "Variable:", _as_is(f"{variable}={value}")
    for files in found.files:
        there = Path(files.source).is_dir()
        said = text(
            "{source} at {target}" if there else "{source} at {target}  (not there)",
            source=files.source,
            target=files.target,
        )
        yield "Files:", said
    yield "Packages:", _as_is(f"\n{'':<{_LABEL}} ".join(_packages(found) or ["-"]))


def _as_is(value: str) -> Text:
    return text("{value}", value=value)


def _packages(environment: Environment) -> list[str]:
    folders = [str(folder) for folder in Path(environment.prefix).glob("lib/python*/site-packages")]
    return sorted({f"{each.name} {each.version}" for each in distributions(path=folders)}, key=str.lower)
