# SPDX-License-Identifier: Apache-2.0
"""Durations on the command line: 30s, 2m, 1h30m, 3d, or plain seconds."""

from __future__ import annotations

import re
from typing import Any

import click

from springtide.cli import speaking
from springtide.messages import text

_PART = re.compile(r"(\d+(?:\.\d+)?)(d|h|m|s)")
LONGEST = 100 * 365 * 86400.0
"""Seconds; no clock has to count further."""
_QUOTED = 30
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}


class Duration(click.ParamType[float]):
    """Converts to seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        try:
            return seconds(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def seconds(written: str) -> float:
    """ValueError when the text is no duration."""
    parts = [(written, "s")] if re.fullmatch(r"\d+(\.\d+)?", written) else _PART.findall(written)
    if not parts or "".join(number + unit for number, unit in parts) not in (written, f"{written}s"):
        message = text("{written!r} is no span of time; write it like 30s, 2m or 1h30m", written=written)
        raise ValueError(speaking.shown(message))
    found = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if found > LONGEST:
        start = written[:_QUOTED]
        message = text("{written!r} is longer than 100 years; write it like 30s, 2m or 1h30m", written=start)
        raise ValueError(speaking.shown(message))
    return found


def shown(span: float) -> str:
    """The duration for users, in whole seconds: `1 m 30 s`."""
    minutes, left = divmod(max(0, round(span)), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{amount} {unit}" for amount, unit in ((hours, "h"), (minutes, "m"), (left, "s")) if amount]
    return " ".join(parts) or "0 s"
