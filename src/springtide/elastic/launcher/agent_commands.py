# SPDX-License-Identifier: Apache-2.0
"""The commands that start the agents of a host: locally, in a pod, or over ssh.

    this machine            python -m springtide.elastic.agent …
    OMPI_MCA_plm_rsh_agent  /etc/mpi/kubexec.sh HOST 'cd … && … agent …'       if it has exactly that value
    everywhere else         ssh … HOST 'cd … && … agent …'

Every user of a machine can read command lines, so they contain addresses only. An agent authenticates with a token that
is valid for one connection. The launcher writes it to the agent's standard input. kubexec.sh forwards no input: there
the agent makes the token and prints it on its standard output, which the launcher alone reads. The program, its
environment and the run's secret go over the connection.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

KUBEXEC: Final = "/etc/mpi/kubexec.sh"
_AGENT: Final = "springtide.elastic.agent"
_SSH: Final = (
    "ssh", "-o", "PasswordAuthentication=no", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
    "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """What the agents of a host need to connect."""

    addresses: tuple[str, ...]
    port: int
    workers: tuple[int, ...]
    tokens: tuple[str, ...]

    @property
    def connect(self) -> str:
        return ",".join(f"{address}:{self.port}" for address in self.addresses)

    @property
    def arguments(self) -> tuple[str, ...]:
        return ("--connect", self.connect, "--workers", ",".join(map(str, self.workers)))

    @property
    def proof(self) -> str:
        return ",".join(self.tokens)


@dataclass(frozen=True, slots=True)
class AgentCommands:
    """How this run reaches other hosts."""

    kubexec: bool
    ssh_port: int | None
    ssh_identity: str | None
    directory: str
    interpreter: str
    paths: Mapping[str, str]
    """The launcher's PATH and PYTHONPATH."""

    @classmethod
    def given(
        cls,
        command: Sequence[str],
        environment: Mapping[str, str],
        directory: str,
        port: int | None,
        identity: str | None,
    ) -> AgentCommands:
        name = PurePath(command[0]).name
        return cls(
            kubexec=environment.get("OMPI_MCA_plm_rsh_agent") == KUBEXEC,
            ssh_port=port,
            ssh_identity=identity,
            directory=directory,
            interpreter=command[0] if name.startswith("python") else "python3",
            paths={name: environment[name] for name in ("PATH", "PYTHONPATH") if environment.get(name)},
        )

    def here(self, call: Call) -> tuple[str, ...]:
        return (sys.executable, "-P", "-m", _AGENT, *call.arguments)

    def elsewhere(self, host: str, call: Call) -> tuple[str, ...]:
        if self.kubexec:
            return (KUBEXEC, host, self._line(call, "--announce-tokens"))
        port = () if self.ssh_port is None else ("-p", str(self.ssh_port))
        identity = () if self.ssh_identity is None else ("-i", self.ssh_identity)
        return (*_SSH, *port, *identity, host, self._line(call))

    def announcing(self, *, here: bool) -> bool:
        """Whether agents make their tokens themselves, because their standard input is not forwarded."""
        return self.kubexec and not here

    def unread(self, call: Call, *, here: bool) -> bytes:
        """The agents' standard input."""
        return b"" if self.announcing(here=here) else f"{call.proof}\n".encode()

    def _line(self, call: Call, *further: str) -> str:
        """A shell command. A missing directory does not prevent the start; Python modules are not looked up in it."""
        paths = "".join(f"{self._path(name, value)}; " for name, value in self.paths.items())
        agent = shlex.join((self.interpreter, "-P", "-m", _AGENT, *call.arguments, *further))
        return f"cd {shlex.quote(self.directory)} 2>/dev/null; {paths}exec {agent}"

    def _path(self, name: str, value: str) -> str:
        """A pod's own paths come first; a shell over ssh has none."""
        ours = shlex.quote(value)
        if self.kubexec:
            return f'export {name}="${{{name}:+${name}:}}"{ours}'
        return f'export {name}={ours}"${{{name}:+:${name}}}"'
