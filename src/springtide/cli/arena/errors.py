# SPDX-License-Identifier: Apache-2.0
"""How commands of `arena` fail: with one line, and exit code 1."""

from __future__ import annotations

from springtide import messages
from springtide.cli.errors import Failure
from springtide.messages import Language, Text


class ArenaError(Exception):
    """The message is printed as it is."""


class Listed(ArenaError):
    """A message of several lines, which Arena prints to stdout instead of logging it."""


def in_one_line(failure: Failure) -> str:
    """What failed, why, and what to do next."""
    parts = [_english(part) for part in (failure.what, failure.cause, failure.hint) if part is not None]
    return "; ".join([": ".join(part.rstrip(".") for part in parts[:2]), *parts[2:]])


def _english(message: Text) -> str:
    return messages.shown(message, Language.ENGLISH)
