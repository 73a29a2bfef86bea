# SPDX-License-Identifier: Apache-2.0
"""What every command of `arena` has: the global flags, Arena's config file, the cluster and its namespace, the log."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from springtide import messages
from springtide.cli import connecting
from springtide.cli.arena.errors import ArenaError
from springtide.cli.arena.log_lines import Level, Log
from springtide.cli.errors import Failure
from springtide.messages import Language, Text

if TYPE_CHECKING:
    from springtide.cli.connecting import Target
    from springtide.cli.jobs.users import Isolation
    from springtide.kube.client import Client

T = TypeVar("T")
_LEVELS: Final = {"debug": Level.DEBUG, "info": Level.INFO, "warn": Level.WARN, "error": Level.ERROR}


@dataclass
class Session:
    globals: Mapping[str, Any]
    log: Log = field(default_factory=Log)

    @cached_property
    def config(self) -> dict[str, str]:
        """Arena's own config file."""
        for path in (os.environ.get("ARENA_CONFIG", ""), str(Path.home() / ".arena" / "config")):
            if path and os.path.exists(path):
                return read(Path(path).read_text(encoding="utf-8", errors="replace").splitlines())
        return {}

    @cached_property
    def target(self) -> Target:
        level = self.globals["loglevel"]
        if level not in _LEVELS:
            raise ArenaError("failed to create arena client: unknown loglevel,only support:[info,debug,error,warn]")
        self.log.level = _LEVELS[level]
        try:
            return connecting.found(self.globals["config"], "", self.globals["namespace"] or self._configured())
        except Failure as failure:
            reason = in_one_line(failure).replace("--kubeconfig", "--config")
            raise ArenaError(f"failed to create arena client: {reason}") from None

    @property
    def namespace(self) -> str:
        return self.target.namespace

    def talk(self, conversation: Callable[[Client], Awaitable[T]], *, streams: bool = False) -> T:
        return self.target.talk(conversation, streams=streams)

    async def isolation(self, client: Client) -> Isolation:
        """Whose jobs the user sees."""
        # Imported here because most of this is not needed by commands like `version`.
        from springtide.cli.jobs import users  # noqa: PLC0415

        arena_namespace = self.globals["arena-namespace"] or "arena-system"
        return await users.isolation_of(client, self.target.connection, self.namespace, arena_namespace)

    def _configured(self) -> str:
        return self.config.get("namespace", "")


def read(lines: Iterable[str]) -> dict[str, str]:
    """`key=value` lines; empty ones, comments and what has no `=` are skipped."""
    pairs = (line.partition("=") for line in lines if line.strip() and not line.strip().startswith("#"))
    return {key.strip(" "): value.strip(" ") for key, equals, value in pairs if equals}


def in_one_line(failure: Failure) -> str:
    """What failed, why, and what to do next."""
    what = ": ".join(_english(part).rstrip(".") for part in (failure.what, failure.cause) if part is not None)
    return what if failure.hint is None else f"{what}; {_english(failure.hint)}"


def _english(message: Text) -> str:
    return messages.shown(message, Language.ENGLISH)
