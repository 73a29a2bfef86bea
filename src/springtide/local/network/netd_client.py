# SPDX-License-Identifier: Apache-2.0
"""Starting, finding and stopping netd, for its supervisor.

task = create_task(keep(data_dir))       # keeps netd running; netd outlives the task and the process
await info(data_dir)                     # {"pid": ..., "uplink": "pasta", "why": ""}
await end(data_dir)                      # the network is removed with its last pod
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, Final

from springtide.local.network import dialing
from springtide.local.network.messages import Conversation, Refused

START_PATIENCE: Final = 10.0
SETTLE_PATIENCE: Final = 2.0
_AGAIN: Final = 0.02
_TRIES: Final = 3
_BACKOFF: Final = (0.0, 0.1, 0.5, 2.0, 5.0)
logger = logging.getLogger(__name__)


class NetdError(Exception):
    """The pod network cannot be provided; the message is for users."""


def socket_path(data_dir: Path) -> Path:
    return data_dir / "network" / "holder.sock"


def command(data_dir: Path, *, uplink: bool = True) -> list[str]:
    """Uses the interpreter below any virtual environment: netd needs no installed packages."""
    interpreter = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    script = Path(__file__).with_name("__main__.py")
    return [interpreter, "-I", "-S", str(script), str(data_dir.absolute()), *(() if uplink else ("--no-uplink",))]


async def ensure(data_dir: Path, *, uplink: bool = True) -> int:
    """The process id of a responding netd, found or started. NetdError with the last line of netd's log.

    Without `uplink`, a netd started here looks for no way to the outside and leaves the host's network alone.
    """
    for _ in range(_TRIES):
        answer = await _living(data_dir) or await _start(data_dir, uplink)
        if answer is not None:
            return int(answer["pid"])
    raise NetdError("The pods' network could not be started: netd is killed while it starts")


async def keep(data_dir: Path, *, uplink: bool = True) -> None:
    """Restarts netd whenever it exits, until cancelled. NetdError if the first start fails."""
    await ensure(data_dir, uplink=uplink)
    failures = 0
    while True:
        try:
            conversation = await asyncio.to_thread(Conversation, str(socket_path(data_dir)), dialing.PATIENCE)
            await dialing.ended(conversation)
            failures = 0
            logger.warning("netd exited; starting another")
        except OSError:
            failures += 1
        await asyncio.sleep(_BACKOFF[min(failures, len(_BACKOFF) - 1)])
        try:
            await ensure(data_dir, uplink=uplink)
        except NetdError as problem:
            failures += 1
            logger.error("%s", problem)


async def info(data_dir: Path) -> dict[str, Any]:
    """netd's status, or {} if netd does not answer."""
    return await _living(data_dir) or {}


async def settled(data_dir: Path, patience: float = SETTLE_PATIENCE) -> dict[str, Any]:
    """netd's status once it has found an uplink or knows that there is none, or when `patience` is over."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while True:
        answer = await info(data_dir)
        if (answer and not answer.get("looking")) or loop.time() > deadline:
            return answer
        await asyncio.sleep(_AGAIN)


async def end(data_dir: Path) -> None:
    """Stops netd. Living pods keep their links, which the next netd finds."""
    try:
        conversation = await asyncio.to_thread(_told, data_dir, {"do": "end"})
    except (OSError, Refused, ValueError):
        return
    await dialing.ended(conversation)


async def _living(data_dir: Path) -> dict[str, Any] | None:
    try:
        return await asyncio.to_thread(_info, data_dir)
    except (OSError, Refused, ValueError):
        return None


def _info(data_dir: Path) -> dict[str, Any]:
    conversation = Conversation(str(socket_path(data_dir)), dialing.PATIENCE)
    try:
        return conversation.ask({"do": "info"})[0]
    finally:
        conversation.close()


def _told(data_dir: Path, request: dict[str, Any]) -> Conversation:
    conversation = Conversation(str(socket_path(data_dir)), dialing.PATIENCE)
    conversation.ask(request)
    return conversation


async def _start(data_dir: Path, uplink: bool) -> dict[str, Any] | None:
    """netd's status, or None when netd was killed before it answered."""
    directory = data_dir / "network"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = directory / "holder.log"
    with log.open("ab") as output:
        process = await asyncio.to_thread(_spawned, command(data_dir, uplink=uplink), output)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + START_PATIENCE
    while loop.time() < deadline:
        answer = await _living(data_dir)
        if answer is not None:
            return answer
        code = process.poll()
        if code is not None and code < 0:
            return None
        if code:
            break
        await asyncio.sleep(_AGAIN)
    raise NetdError(f"The pods' network could not be started: {_last_words(log)} (more in {log})")


def _spawned(argv: list[str], output: IO[bytes]) -> subprocess.Popen[bytes]:
    """Bypasses asyncio, which kills its remaining children when its loop is closed."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd="/",
        env={"PATH": os.environ.get("PATH", os.defpath)},
        start_new_session=True,
    )
    threading.Thread(target=process.wait, name="netd", daemon=True).start()  # reaps the process
    return process


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "netd wrote nothing to its log"
