# SPDX-License-Identifier: Apache-2.0
"""The commands of `arena` as data, and which of them a command line means.

A `Branch` is a name in the tree with a line of help. What it does is a `Verb` in a module of its own, which is imported
when the command runs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from springtide.cli.flags import pflag
from springtide.cli.flags.pflag import Flag, Kind, Parsed

if TYPE_CHECKING:
    from springtide.cli.arena.session import Session

GLOBAL_FLAGS: Final = (
    Flag("arena-namespace", Kind.STRING, "namespace of Arena's own settings", default="arena-system"),
    Flag("config", Kind.STRING, "kubeconfig file of the cluster"),
    Flag("helm-binary", Kind.BOOL, "accepted and ignored: no Helm is used"),
    Flag("loglevel", Kind.STRING, "least important messages to print: debug|info|warn|error", default="info"),
    Flag("namespace", Kind.STRING, "namespace of the job", short="n"),
    Flag("pprof", Kind.BOOL, "accepted and ignored: no profile is written"),
    Flag("trace", Kind.BOOL, "accepted and ignored: no trace is written"),
)


@dataclass(frozen=True, slots=True)
class Verb:
    """What a command takes and does."""

    flags: tuple[Flag, ...]
    run: Callable[[Session, Parsed], None]
    needs_arguments: str = ""
    """The error without arguments; empty: none are needed."""
    takes_anything: bool = False
    """Whether flags and arguments do not matter."""


@dataclass(frozen=True, slots=True)
class Branch:
    name: str
    help: str
    entry: str = ""
    """`module:NAME` of the verb; empty: a group of commands."""
    aliases: tuple[str, ...] = ()
    arguments: str = ""
    """As the usage line shows them."""
    commands: tuple[Branch, ...] = ()

    def child(self, name: str) -> Branch | None:
        return next((each for each in self.commands if name in (each.name, *each.aliases)), None)

    def verb(self) -> Verb:
        module, _, name = self.entry.partition(":")
        found = getattr(importlib.import_module(module), name)
        assert isinstance(found, Verb), self.entry
        return found


@dataclass(frozen=True, slots=True)
class Located:
    path: tuple[Branch, ...]
    """From the root to the command."""
    words: tuple[str, ...]
    """The command line without the names of commands."""

    @property
    def branch(self) -> Branch:
        return self.path[-1]

    @property
    def shown(self) -> str:
        return " ".join(branch.name for branch in self.path)


def located(root: Branch, words: Sequence[str]) -> Located:
    """Commands are found between flags, too: `arena -n team get a`."""
    path, left = [root], list(words)
    while (at := _first_argument(left)) is not None:
        child = path[-1].child(left[at])
        if child is None:
            break
        del left[at]
        path.append(child)
    return Located(tuple(path), tuple(left))


def first_argument(words: Sequence[str]) -> str | None:
    at = _first_argument(words)
    return None if at is None else words[at]


def _first_argument(words: Sequence[str]) -> int | None:
    at = 0
    while at < len(words) and words[at] != "--":
        if not words[at].startswith("-") or words[at] == "-":
            return at
        at += 2 if pflag.takes_next_word(GLOBAL_FLAGS, words[at]) else 1
    return None
