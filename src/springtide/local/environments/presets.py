# SPDX-License-Identifier: Apache-2.0
"""Presets: ready-made environments with the content of well-known training images, installed from wheels.

The table is `presets.toml`.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from springtide import messages
from springtide.local.environments import patterns

TABLE = Path(__file__).with_name("presets.toml")


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row; the fields are explained in the table."""

    name: str
    description: str
    description_zh: str
    requirements: tuple[str, ...]
    packages: int
    megabytes: int
    seconds: int
    images: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    newest_python: str = ""
    extends: str = ""
    horovod: bool = False
    programs: dict[str, str] = {}
    commands: tuple[str, ...] = ()
    workdir: str = ""
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    variables: dict[str, str] = {}

    @property
    def cost(self) -> messages.Text:
        """Number of packages, size and time of creating it."""
        minutes = -(-self.seconds // 60)
        time = messages.text("{minutes} minutes or so" if minutes > 1 else "{minutes} minute or so", minutes=minutes)
        count = messages.text("{count} packages" if self.packages > 1 else "{count} package", count=self.packages)
        return messages.text(
            "{packages}, about {size} MB to fetch, {time}",
            packages=count,
            size=self.megabytes,
            time=messages.text("less than a minute") if self.seconds < 60 else time,
        )


@cache
def table() -> dict[str, Preset]:
    """All presets by name, in the order of the table."""
    return read(TABLE.read_text())


def read(text: str) -> dict[str, Preset]:
    """Parse a table; ValueError for an invalid row."""
    rows: dict[str, dict[str, Any]] = tomllib.loads(text)
    found: dict[str, Preset] = {}
    for name, row in rows.items():
        whole = (rows[row["extends"]] if "extends" in row else {}) | row
        try:
            found[name] = msgspec.convert(whole | {"name": name}, Preset)
        except msgspec.ValidationError as error:
            raise ValueError(f"preset {name!r}: {error}") from error
    return found


def for_image(image: str) -> Preset | None:
    """The preset that replaces an image; one that extends another can only be chosen by name."""
    by_pattern = {pattern: preset for preset in table().values() if not preset.extends for pattern in preset.images}
    pattern = patterns.best(by_pattern, image)
    return None if pattern is None else by_pattern[pattern]


def with_command(name: str) -> Preset | None:
    """The first preset whose packages have this command."""
    return next((preset for preset in table().values() if name in preset.commands), None)
