# SPDX-License-Identifier: Apache-2.0
"""The flag `--type`."""

from __future__ import annotations

from typing import Final

from springtide.cli.arena.errors import ArenaError
from springtide.cli.flags.pflag import Flag, Kind, Parsed
from springtide.views.trainers import TRAINERS, Trainer, by_word

_KNOWN: Final = ",".join(f"{trainer.short}({trainer.alias})" for trainer in TRAINERS)
TYPE: Final = Flag("type", Kind.STRING, f"type of the job, one of {_KNOWN}", short="T")


def chosen(line: Parsed) -> Trainer | None:
    """None: no type is given, and jobs of all types are meant."""
    word = line.values[TYPE.name]
    if not word:
        return None
    trainer = by_word(word)
    if trainer is None:
        raise ArenaError(f"unsupport job type,arena only supports: [{_KNOWN}]")
    return trainer
