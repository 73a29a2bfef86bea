# SPDX-License-Identifier: Apache-2.0
"""The small process that every rank runs under: `python -m springtide.elastic.agent`, started by `tiderun`.

    tiderun ◄── beats, output, how it ended ── agent ── its process group ──► rank
            ── which program, signals ──►

The agent sends heartbeats for its rank, which may hold the interpreter lock for minutes. It forwards the rank's output
as fast as the launcher takes it, so that a launcher whose own output is blocked blocks the rank and not the heartbeats.
It ends the rank and all its processes on a message of the launcher, when the agent itself is terminated, and when the
launcher is gone: at once when the connection closes, and within ten seconds of silence. A launcher that is gone never
comes back with the same secret, so no agent waits for it.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import IO, Any, Final

from springtide.elastic.protocol import tokens, wire
from springtide.elastic.protocol.agent_messages import (
    FROM_AGENT,
    TO_AGENT,
    Beat,
    Bye,
    Exited,
    FromAgent,
    Kill,
    Output,
    Program,
    Started,
    Taken,
    ToAgent,
    Welcome,
)
from springtide.elastic.shared.orphan_guard import OrphanGuard

BEAT: Final = 0.5
LAUNCHER_GONE: Final = 10.0
"""Seconds without a message from the launcher after which the rank is killed."""
LAUNCHER_SILENT: Final = 7.0
"""Seconds without a message from the launcher after which the rank gets SIGTERM."""
GRACE: Final = 5.0
"""Seconds between SIGTERM and SIGKILL."""
_LINGER: Final = 1.0
"""Seconds to wait for more output of a rank that has ended, when another process holds its pipes."""
_WINDOW: Final = 256 << 10
"""Bytes of output that may be on their way to the launcher."""
_CHUNK: Final = 64 << 10
_PATIENCE: Final = 5.0


class UnreachableError(Exception):
    """No address leads to the launcher."""


@dataclass(slots=True)
class Link:
    """The connection to the launcher; never blocks."""

    connection: socket.socket
    lost: bool = False
    heard: float = field(default_factory=time.monotonic)
    _incoming: bytearray = field(default_factory=bytearray)
    _outgoing: bytearray = field(default_factory=bytearray)

    @property
    def pending(self) -> bool:
        return bool(self._outgoing) and not self.lost

    def send(self, message: FromAgent) -> None:
        if not self.lost:
            self._outgoing += FROM_AGENT.encode(message)
            self.flush()

    def flush(self) -> None:
        try:
            while self._outgoing:
                del self._outgoing[: self.connection.send(self._outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            self.lost = True

    def listen(self) -> list[ToAgent | None]:
        """RefusedError for what is no message."""
        try:
            data = self.connection.recv(_CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            self.lost = True
            return []
        self.heard = time.monotonic()
        self._incoming += data
        return [TO_AGENT.decode(frame) for frame in wire.decode(self._incoming)]

    def part(self) -> None:
        """Close the connection once the launcher has read all and closed its side. To close it with unread data would
        drop what is still being sent."""
        if self.lost:
            return
        self.connection.settimeout(LAUNCHER_GONE)
        with contextlib.suppress(OSError):
            self.connection.sendall(self._outgoing)
            self.connection.shutdown(socket.SHUT_WR)
            while self.connection.recv(_CHUNK):
                pass


class Rank:
    """The user's program and all that it starts, in a process group of its own."""

    def __init__(self, program: Program, environment: dict[str, str], orphan_guard: OrphanGuard) -> None:
        """The guard knows the process group before the program runs, so that an agent killed here leaves no rank."""
        read, write = os.pipe()
        try:
            os.write(write, program.secret)
            self.process = subprocess.Popen(
                program.argv,
                env=environment | {"TIDE_SECRET_FD": str(read)},
                cwd=program.cwd if os.path.isdir(program.cwd) else None,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(read,),
                start_new_session=True,
                preexec_fn=lambda: orphan_guard.hold(os.getpid()),
            )
        finally:
            os.close(write)
            os.close(read)

    @property
    def pipes(self) -> dict[str, IO[bytes]]:
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        return {"out": self.process.stdout, "err": self.process.stderr}

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


class Agent:
    def __init__(self, link: Link, rank: Rank, orphan_guard: OrphanGuard) -> None:
        self._link, self._rank, self._orphan_guard = link, rank, orphan_guard
        self._selector = selectors.DefaultSelector()
        self._on_its_way = 0
        self._pipes = rank.pipes
        self._open = set(self._pipes)
        self._beat_at = 0.0
        self._kill_at: float | None = None
        self._ended_at: float | None = None
        self._wake, waker = socket.socketpair()
        for end in (self._wake, waker):
            end.setblocking(False)
        self._waker = waker
        self._selector.register(self._wake, selectors.EVENT_READ, "signal")

    def run(self) -> int:
        """The exit code of the rank, as shells have it."""
        self._watch_signals()
        while not self._done():
            self._register()
            for key, mask in self._selector.select(self._patience()):
                self._attend(key, mask)
            self._tick(time.monotonic())
        self._link.part()
        code = self._rank.process.returncode
        return code if code >= 0 else 128 - code

    def _watch_signals(self) -> None:
        def ended(_number: int, _frame: FrameType | None) -> None:
            pass  # the wake-up byte is all that is wanted

        def asked(_number: int, _frame: FrameType | None) -> None:
            self._end()

        signal.signal(signal.SIGCHLD, ended)
        signal.signal(signal.SIGTERM, asked)
        signal.signal(signal.SIGINT, asked)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # of the shell that started the agent
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)

    def _register(self) -> None:
        """Wait for the connection, and for output while it may be sent."""
        wanted: dict[Any, tuple[int, str]] = {}
        if not self._link.lost:
            writing = selectors.EVENT_WRITE if self._link.pending else 0
            wanted[self._link.connection] = (selectors.EVENT_READ | writing, "link")
        if self._on_its_way < _WINDOW or self._link.lost:
            wanted |= {self._pipes[name]: (selectors.EVENT_READ, name) for name in self._open}
        for key in list(self._selector.get_map().values()):
            if key.fileobj is not self._wake and key.fileobj not in wanted:
                self._selector.unregister(key.fileobj)
        there = {key.fileobj: key.events for key in self._selector.get_map().values()}
        for thing, (events, name) in wanted.items():
            if thing not in there:
                self._selector.register(thing, events, name)
            elif there[thing] != events:
                self._selector.modify(thing, events, name)

    def _patience(self) -> float:
        return max(min(self._beat_at, self._kill_at or self._beat_at) - time.monotonic(), 0.0)

    def _attend(self, key: selectors.SelectorKey, mask: int) -> None:
        if key.data == "signal":
            with contextlib.suppress(BlockingIOError):
                self._wake.recv(_CHUNK)
        elif key.data == "link":
            if mask & selectors.EVENT_WRITE:
                self._link.flush()
            if mask & selectors.EVENT_READ:
                try:
                    for message in self._link.listen():
                        self._hear(message)
                except wire.RefusedError:
                    self._link.lost = True
        else:
            self._forward(key.data)

    def _hear(self, message: ToAgent | None) -> None:
        match message:
            case Taken(size):
                self._on_its_way -= size
            case Kill(signal.SIGKILL):
                self._rank.signal(signal.SIGKILL)
            case Kill():
                self._end()
            case Bye():
                self._link.lost = True

    def _forward(self, name: str) -> None:
        data = os.read(self._pipes[name].fileno(), _CHUNK)
        if not data:
            self._open.discard(name)
            return
        if not self._link.lost:
            self._on_its_way += len(data)
            self._link.send(Output(name, data))

    def _tick(self, now: float) -> None:
        if now >= self._beat_at:
            self._beat_at = now + BEAT
            self._link.send(Beat())
        silent = now - self._link.heard
        if silent > LAUNCHER_GONE:
            self._link.lost = True
        if silent > LAUNCHER_SILENT:
            self._end(max(LAUNCHER_GONE - silent, 0.0))
        if self._link.lost:
            self._end()
        if self._kill_at is not None and now >= self._kill_at:
            self._kill_at = now + GRACE
            self._rank.signal(signal.SIGKILL)
        if self._ended_at is None and self._rank.process.poll() is not None:
            self._ended(now)

    def _end(self, grace: float = GRACE) -> None:
        if self._kill_at is None and self._ended_at is None:
            self._kill_at = time.monotonic() + grace
            self._rank.signal(signal.SIGTERM)
            self._rank.signal(signal.SIGCONT)

    def _ended(self, now: float) -> None:
        """Reported at once; the last output follows."""
        code = self._rank.process.returncode
        self._link.send(Exited(max(code, 0), max(-code, 0)))
        self._rank.signal(signal.SIGKILL)  # the processes it left behind
        self._orphan_guard.release()
        self._ended_at, self._kill_at = now, None

    def _done(self) -> bool:
        if self._ended_at is None:
            return False
        if self._link.lost:
            return True
        waited = time.monotonic() - self._ended_at
        return not self._link.pending and (not self._open or (waited > _LINGER and self._on_its_way == 0))


def reached(candidates: Sequence[tuple[str, int]], worker: int, token: bytes) -> tuple[socket.socket, wire.Bond, str]:
    """The launcher, at the address that answers first. Another machine may have one of these addresses, too; it does
    not know the token."""
    errors: list[str] = []
    for connection, (address, port) in _connected(candidates, errors):
        try:
            connection.settimeout(_PATIENCE)
            return connection, wire.call(connection, wire.Caller.AGENT, worker, token), address
        except (OSError, EOFError, wire.RefusedError) as error:
            errors.append(f"{address}:{port}: {error}")
            connection.close()
    raise UnreachableError("; ".join((*errors, "ranks must be able to reach the host of tiderun")))


def _connected(
    candidates: Sequence[tuple[str, int]], errors: list[str]
) -> Iterator[tuple[socket.socket, tuple[str, int]]]:
    """Connections in the order in which they are made; `errors` gets the reasons for the others."""
    deadline = time.monotonic() + 2 * _PATIENCE
    with selectors.DefaultSelector() as selector:
        for address, port in candidates:
            connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
            connection.setblocking(False)
            if (code := connection.connect_ex((address, port))) not in (0, errno.EINPROGRESS):
                errors.append(f"{address}:{port}: {os.strerror(code)}")
                connection.close()
                continue
            selector.register(connection, selectors.EVENT_WRITE, (address, port))
        while selector.get_map() and time.monotonic() < deadline:
            for key, _ in selector.select(deadline - time.monotonic()):
                found = key.fileobj
                assert isinstance(found, socket.socket)
                selector.unregister(found)
                if code := found.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                    errors.append(f"{key.data[0]}:{key.data[1]}: {os.strerror(code)}")
                    found.close()
                else:
                    yield found, key.data
        errors += [f"{key.data[0]}:{key.data[1]}: no answer" for key in selector.get_map().values()]


def _environment(passed_on: Mapping[str, str], connect: str, address: str, worker: int) -> dict[str, str]:
    """The host's variables, those that the launcher passes on, and those of this run."""
    candidates = sorted(connect.split(","), key=lambda each: each.rpartition(":")[0] != address)
    return {
        "PYTHONUNBUFFERED": "1",
        **os.environ,
        **passed_on,
        "TIDE_COORDINATOR": ",".join(candidates),
        "TIDE_WORKER": str(worker),
    }


def _unable(link: Link, argv: Sequence[str], error: OSError) -> int:
    code = 127 if isinstance(error, FileNotFoundError) else 126
    link.connection.setblocking(True)
    link.send(Output("err", f"tiderun: {argv[0]} cannot be started: {error.strerror}\n".encode()))
    link.send(Exited(code, 0))
    link.part()
    return code


def serve(connect: str, worker: int, token: str) -> int:
    """An agent's life; the exit code of its rank."""
    candidates = [(address, int(port)) for address, _, port in (each.rpartition(":") for each in connect.split(","))]
    orphan_guard = OrphanGuard()
    try:
        connection, bond, address = reached(candidates, worker, token.encode())
        program = _program(connection, bond)
    except (UnreachableError, OSError, EOFError, wire.RefusedError) as error:
        print(f"the launcher cannot be reached from here: {error}", file=sys.stderr, flush=True)
        return 1
    link = Link(connection)
    environment = _environment(program.env, connect, address, worker)
    try:
        rank = Rank(program, environment, orphan_guard)
    except OSError as error:
        orphan_guard.release()
        return _unable(link, program.argv, error)
    connection.setblocking(False)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.send(Started(rank.process.pid))
    return Agent(link, rank, orphan_guard).run()


def _program(connection: socket.socket, bond: wire.Bond) -> Program:
    welcome = TO_AGENT.decode(wire.receive(connection))
    if not isinstance(welcome, Welcome):
        raise wire.RefusedError("the launcher's first message is not a program")
    return Program.unsealed(welcome, bond)


def _made(workers: Sequence[str]) -> str:
    """Tokens that only the process knows that reads our output."""
    made = [secrets.token_hex(wire.TOKEN) for _ in workers]
    print(tokens.announcement([int(worker) for worker in workers], made), flush=True)
    return ",".join(made)


def main() -> int:
    """One start makes an agent for every worker: to reach a host and to load Python take most of the time."""
    parser = argparse.ArgumentParser(prog="springtide.elastic.agent")
    for name in ("--connect", "--workers"):
        parser.add_argument(name, required=True)
    parser.add_argument(
        "--announce-tokens",
        action="store_true",
        help="make the tokens and print them on standard output, instead of reading them from standard input",
    )
    given = parser.parse_args()
    workers = given.workers.split(",")
    proof = _made(workers) if given.announce_tokens else sys.stdin.readline().strip()
    if not proof:
        print("the launcher is gone: there was no token on standard input", file=sys.stderr, flush=True)
        return 1
    agents = list(zip(workers, proof.split(","), strict=True))
    if len(agents) == 1:
        return serve(given.connect, int(given.workers), proof)
    for worker, token in agents:
        if os.fork() == 0:
            os._exit(serve(given.connect, int(worker), token))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the agents get them, too; this process stays until they have ended
    return max(os.waitstatus_to_exitcode(os.wait()[1]) for _ in agents)


if __name__ == "__main__":
    sys.exit(main())
