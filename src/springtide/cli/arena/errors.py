# SPDX-License-Identifier: Apache-2.0
"""How commands of `arena` fail: with one line, and exit code 1."""

from __future__ import annotations


class ArenaError(Exception):
    """The message is printed as it is."""


class Listed(ArenaError):
    """A message of several lines, which Arena prints to stdout instead of logging it."""
