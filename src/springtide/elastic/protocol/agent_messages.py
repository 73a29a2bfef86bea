# SPDX-License-Identifier: Apache-2.0
"""The messages between the launcher and an agent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from springtide.elastic.protocol import wire
from springtide.elastic.protocol.codec import Codec


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat, in either direction."""


@dataclass(frozen=True, slots=True)
class Started:
    """The rank's process runs."""

    pid: int


@dataclass(frozen=True, slots=True)
class Output:
    """The rank's output, on one of its two streams."""

    stream: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Exited:
    """The rank's process has ended with this exit code or by this signal; the other number is 0."""

    code: int
    signal: int


@dataclass(frozen=True, slots=True)
class Welcome:
    """The first message to an agent: a `Program`, sealed."""

    sealed: bytes


@dataclass(frozen=True, slots=True)
class Taken:
    """This much output has been written; the agent may send as much again."""

    bytes: int


@dataclass(frozen=True, slots=True)
class Kill:
    """End the rank's process group."""

    signal: int


@dataclass(frozen=True, slots=True)
class Bye:
    """The launcher closes the connection."""


@dataclass(frozen=True, slots=True)
class Program:
    """The program that an agent starts, and the secret of the run, with which the rank authenticates."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    secret: bytes

    def sealed(self, bond: wire.Bond) -> Welcome:
        words = {"argv": self.argv, "env": dict(self.env), "cwd": self.cwd, "secret": self.secret.hex()}
        return Welcome(bond.seal(json.dumps(words).encode()))

    @classmethod
    def unsealed(cls, welcome: Welcome, bond: wire.Bond) -> Program:
        """RefusedError if the content was not sealed by the launcher."""
        words = wire.words_of(bond.unseal(welcome.sealed))
        try:
            return cls(tuple(words["argv"]), words["env"], words["cwd"], bytes.fromhex(words["secret"]))
        except (KeyError, TypeError, ValueError) as error:
            raise wire.RefusedError("invalid message: a program needs argv, env, cwd and secret") from error


FromAgent: TypeAlias = Beat | Started | Output | Exited
ToAgent: TypeAlias = Beat | Welcome | Taken | Kill | Bye

FROM_AGENT: Final = Codec[FromAgent]({"beat": Beat, "started": Started, "output": Output, "exited": Exited})
TO_AGENT: Final = Codec[ToAgent]({"beat": Beat, "welcome": Welcome, "taken": Taken, "kill": Kill, "bye": Bye})
