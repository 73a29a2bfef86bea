# SPDX-License-Identifier: Apache-2.0
"""The node agent's client of a shim: start a shim, find it again, send it requests.

    shim = await adopt(directory) or await spawn(directory)
    await shim.start("main", 0)
    async for state in shim.changes(): ...      # ends when the shim is gone

A shim is identified by boot id, PID and start time, so another process with a reused PID is never mistaken for it.
Every request has its own connection: no request waits for another, and a killed agent leaves no partial conversation.
The directory is the pod's (see `shim`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from springtide.local import control_sockets
from springtide.local.runtime import channels
from springtide.local.runtime.channels import Channel
from springtide.local.runtime.channels import ShimError as ShimError
from springtide.local.runtime.channels import ShimGoneError as ShimGoneError
from springtide.local.runtime.contract import ContainerState
from springtide.local.runtime.shim import kernel, process

START_PATIENCE: Final = 30.0
PATIENCE: Final = 30.0
"""Seconds after which a shim that does not answer counts as stuck: stopped, or blocked on a disk that does not
respond."""
SOON: Final = 5.0
"""Seconds after which the states on disk are used instead."""
NO_ANSWER: Final = "NoAnswer"
_AGAIN: Final = 0.02
_PACKAGES: Final = str(Path(__file__).parents[3])


def interpreter() -> str:
    """The base interpreter of any virtual environment: a shim needs none of its packages."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def module_command(name: str) -> list[str]:
    """Arguments that run a standard-library-only module of this package; a script would be compiled at each start."""
    code = f"import sys; sys.path.append(sys.argv[1]); from {__package__}.{name} import main; main(sys.argv[2])"
    return ["-I", "-S", "-c", code, _PACKAGES]


async def spawn(directory: Path) -> Shim:
    """Start a shim for the `body.json` in a directory and wait until its sandbox is ready."""
    child, reading = _launch(directory)
    try:
        return await born(directory, reading)
    except BaseException:
        child.kill()
        raise
    finally:
        os.close(reading)
        child.wait()


async def born(directory: Path, reading: int) -> Shim:
    """The shim that is starting and will report through the pipe `reading`, once its sandbox is ready."""
    try:
        answer = await asyncio.wait_for(_last_line(reading), START_PATIENCE)
    except TimeoutError:
        raise ShimError("SandboxError", f"the pod's shim was not ready after {START_PATIENCE:.0f} s") from None
    if answer.get("reason") == "AlreadyRunning":
        return await _await_other(directory)
    if "error" in answer:
        raise ShimError(answer.get("reason", "SandboxError"), answer["error"])
    return Shim(directory, int(answer["pid"]))


def _launch(directory: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A process that forks the shim and exits, and the pipe of the shim's report: the shim is not the agent's child and
    leaves no zombie."""
    command = [interpreter(), *module_command("shim.process"), str(directory)]
    quiet = subprocess.DEVNULL
    reading, writing = os.pipe()
    try:
        child = subprocess.Popen(
            command, env={}, cwd="/", stdin=quiet, stdout=writing, stderr=writing, start_new_session=True
        )
    except OSError as error:
        os.close(reading)
        raise ShimError("SandboxError", f"cannot start a process for the pod: {error}") from None
    finally:
        os.close(writing)
    return child, reading


async def _last_line(fd: int) -> dict[str, Any]:
    """The report of a starting shim, which closes the pipe afterwards."""
    text = b""
    os.set_blocking(fd, False)
    while True:
        await channels.ready(fd)
        data = os.read(fd, 65536)
        text += data
        lines = text.splitlines(keepends=True)
        if lines and lines[-1].startswith(b"{") and lines[-1].endswith(b"\n"):
            return dict(msgspec.json.decode(lines[-1]))
        if not data:
            why = text.decode(errors="replace").strip() or "it exited without a message"
            raise ShimError("SandboxError", f"the pod's shim did not start: {why[-2000:]}")


async def _await_other(directory: Path) -> Shim:
    """An earlier agent was killed while it started a shim, which will be ready soon; wait for it."""
    deadline = time.monotonic() + START_PATIENCE
    while time.monotonic() < deadline:
        if found := await adopt(directory):
            return found
        await asyncio.sleep(_AGAIN)
    raise ShimError("AlreadyRunning", "the pod has a shim that does not answer")


async def adopt(directory: Path) -> Shim | None:
    """The living shim of a pod directory, if there is one."""
    pid = living(directory)
    if pid is None:
        return None
    found = Shim(directory, pid)
    try:
        await found.states()
    except ShimGoneError:
        return None
    return found


def living(directory: Path) -> int | None:
    """The PID in `shim.json`, if that process still runs."""
    try:
        named = msgspec.json.decode((directory / "shim.json").read_bytes())
        if named["boot"] != kernel.boot_id():
            return None
        if sys.platform == "linux":
            return named["pid"] if kernel.start_time(named["pid"]) == named["start"] else None
        os.kill(named["pid"], 0)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return int(named["pid"])


def rebooted(directory: Path) -> bool:
    """Whether the pod's last shim belongs to an earlier start of this machine."""
    try:
        boot = msgspec.json.decode((directory / "shim.json").read_bytes())["boot"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return bool(boot != kernel.boot_id())


def lost(directory: Path) -> list[ContainerState]:
    """The states on disk of a pod whose shim is gone: containers that were running were killed with it."""
    states = left(directory)
    end: dict[str, Any] = {**process.LOST, "finished": time.time()}
    return [state if state.status == "exited" else msgspec.structs.replace(state, **end) for state in states]


def left(directory: Path) -> list[ContainerState]:
    """The states on disk."""
    return [msgspec.convert(state, ContainerState) for state in process.left_states(str(directory))]


class Shim:
    """One pod's shim."""

    def __init__(self, directory: Path, pid: int) -> None:
        self.directory = directory
        self.pid = pid
        self._channels: set[Channel] = set()

    async def start(self, container: str, attempt: int) -> None:
        """Run an attempt whose body is written; returns when the program is executed."""
        await self._ask({"do": "start", "container": container, "attempt": attempt})

    async def stop(self, container: str, grace: float, signal: str = "SIGTERM") -> None:
        """Send the signal now and kill everything in the container after the grace period; waits for neither."""
        await self._ask({"do": "stop", "container": container, "grace": grace, "signal": signal})

    async def states(self) -> list[ContainerState]:
        """The newest attempt of each container; read from disk where the shim does not answer soon."""
        try:
            answer, _ = await self._ask({"do": "states"}, SOON)
        except ShimError as error:
            if error.reason != NO_ANSWER:
                raise
            return left(self.directory)
        return msgspec.convert(answer["states"], list[ContainerState])

    async def changes(self) -> AsyncGenerator[ContainerState, None]:
        """The current states first, then each change; ends when the shim is gone."""
        try:
            channel = await self._connect()
        except ShimGoneError:
            return
        try:
            answer, _ = await channel.ask({"do": "watch"})
            for state in answer["states"]:
                yield msgspec.convert(state, ContainerState)
            while True:
                message, _ = await channel.receive()
                yield msgspec.convert(message["state"], ContainerState)
        except ShimGoneError:
            return
        finally:
            self._drop(channel)

    async def exec(
        self,
        container: str,
        argv: Sequence[str],
        fds: Sequence[int],
        *,
        tty: bool = False,
        env: dict[str, str] | None = None,
    ) -> Execution:
        """Run a command in a container on [stdin, stdout, stderr] or [terminal]; it keeps running when the caller
        disconnects.

        With `tty` the command gets a terminal of the container instead of the given one, of which only the size is
        used, unless the container has none (see `Execution.terminal`).
        """
        channel = await self._connect()
        request = {"do": "exec", "container": container, "argv": list(argv), "env": env, "tty": tty}
        try:
            answer, received = await channel.ask(request | {"takes_terminal": tty}, fds)
        except BaseException:
            self._drop(channel)
            raise
        return Execution(self, channel, answer["pid"], received[0] if received else None)

    async def attach(
        self, container: str, *, stdin: int | None = None, stdout: int | None = None, stderr: int | None = None
    ) -> Attachment:
        """Copy a container's new output to descriptors, and input from `stdin` to its stdin, until closed."""
        channel = await self._connect()
        streams = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
        request = {"do": "attach", "container": container, **{name: fd is not None for name, fd in streams.items()}}
        try:
            await channel.ask(request, [fd for fd in streams.values() if fd is not None])
        except BaseException:
            self._drop(channel)
            raise
        return Attachment(self, channel)

    async def resize(self, container: str, width: int, height: int) -> None:
        """Set the size of a container's own terminal."""
        await self._ask({"do": "resize", "container": container, "width": width, "height": height})

    async def socket(self, kind: str = "tcp") -> socket.socket:
        """A new, unconnected, non-blocking socket in the pod's own network; `kind` is tcp or udp."""
        _, fds = await self._ask({"do": "socket", "kind": kind})
        made = socket.socket(fileno=fds[0])
        made.setblocking(False)
        return made

    async def allow(self, ticket: str, container: str, argv: Sequence[str], tty: bool = False) -> None:
        """Allow a client that presents the ticket at the exec socket to run this command once."""
        await self._ask({"do": "allow", "ticket": ticket, "container": container, "argv": list(argv), "tty": tty})

    async def usage(self) -> dict[str, dict[str, float]]:
        """Per running container: seconds of CPU (`cpu`) and bytes of memory (`memory`)."""
        answer, _ = await self._ask({"do": "usage"}, SOON)
        return msgspec.convert(answer["usage"], dict[str, dict[str, float]])

    async def end(self) -> None:
        """Kill everything in the pod at once; returns when the shim is gone. A shim that does not answer is killed
        itself."""
        channel = None
        try:
            channel = await self._connect()
            async with asyncio.timeout(PATIENCE):
                await channel.ask({"do": "end"})
                while True:
                    await channel.receive()
        except ShimGoneError:
            return
        except TimeoutError:
            self.kill()
        finally:
            if channel:
                self._drop(channel)

    def kill(self) -> None:
        """Kill the shim, and with it everything in the pod."""
        if living(self.directory) == self.pid:
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Close all connections to the shim, which keeps running."""
        for channel in list(self._channels):
            self._drop(channel)

    async def _ask(self, request: dict[str, Any], patience: float = PATIENCE) -> tuple[dict[str, Any], list[int]]:
        channel = None
        try:
            async with asyncio.timeout(patience):
                channel = await self._connect()
                return await channel.ask(request)
        except TimeoutError:
            raise ShimError(NO_ANSWER, f"the pod's shim has not answered for {patience:.0f} s") from None
        finally:
            if channel:
                self._drop(channel)

    async def _connect(self) -> Channel:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            while True:
                try:
                    control_sockets.at_directory(str(self.directory / "shim.sock"), connection.connect)
                    break
                except BlockingIOError:  # its queue of connections is full
                    await asyncio.sleep(_AGAIN)
        except OSError as error:
            connection.close()
            raise ShimGoneError(f"the pod's shim does not answer: {error}") from None
        channel = Channel(connection)
        self._channels.add(channel)
        return channel

    def _drop(self, channel: Channel) -> None:
        self._channels.discard(channel)
        channel.close()


class Execution:
    """A command that runs in a container."""

    def __init__(self, shim: Shim, channel: Channel, pid: int, terminal: int | None) -> None:
        self.pid = pid
        self.terminal = terminal
        """The master of the command's terminal, which the caller must close; None where it uses the given
        descriptors."""
        self._shim = shim
        self._channel = channel

    async def wait(self) -> int:
        """The command's exit code; `ShimGoneError` when the shim was killed, and the command with it."""
        try:
            message, _ = await self._channel.receive()
        finally:
            self.close()
        return int(message["exited"])

    def close(self) -> None:
        """Stop waiting; the command keeps running."""
        self._shim._drop(self._channel)


class Attachment:
    """A connection to a container's streams."""

    def __init__(self, shim: Shim, channel: Channel) -> None:
        self._shim = shim
        self._channel = channel

    async def wait(self) -> int | None:
        """The container's exit code; None when the shim has ended the attachment or is gone itself."""
        try:
            message, _ = await self._channel.receive()
        except ShimGoneError:
            return None
        finally:
            self.close()
        return int(message["exited"])

    def close(self) -> None:
        self._shim._drop(self._channel)
