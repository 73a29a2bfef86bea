# SPDX-License-Identifier: Apache-2.0
"""The server process: the API server and the controllers beside it, as one child of the supervisor.

    python -m springtide.local.supervisor.server SETTINGS    (JSON, as the supervisor writes it)

The supervisor has bound the port and holds the directory's lock; the server reports over a pipe that it is up, or why
not.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import socket
import sys
from pathlib import Path

import msgspec

from springtide.event_loop.garbage_collection import collect_rarely
from springtide.kube.errors import ApiError
from springtide.local import cluster as clusters
from springtide.local.datadir import InUseError
from springtide.local.scheduler import scheduler
from springtide.local.store.backend import FullError
from springtide.local.store.memory import damage
from springtide.local.store.sqlite import LostError, OpenError
from springtide.local.supervisor import failures, seeding
from springtide.local.supervisor.settings import ServerSettings

logger = logging.getLogger(__name__)

COLLECT = 10_000
"""With the default, collections cost a twentieth of the server's time."""
_OPEN_FILES = 65536
"""The wanted limit of open files: every watcher is a connection, and many systems have a limit of 1,024."""


def main() -> None:
    settings = msgspec.json.decode(sys.argv[1], type=ServerSettings)
    os.set_inheritable(settings.tell, False)
    logging.basicConfig(
        level=logging.INFO if settings.verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    raise_limit()
    try:
        asyncio.run(_serve(settings))
    except (InUseError, OpenError, FullError, ApiError, OSError) as error:
        tell(settings.tell, failures.failed(error, lost=isinstance(error, LostError)))
        sys.exit(1)


async def _serve(settings: ServerSettings) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    async with clusters.running(_options(settings)) as found:
        notes = [damage(key) for key in found.damaged]
        notes += await seeding.seed(found.client("system:springtide"))
        for note in notes:
            logger.warning("%s", note)
        tell(settings.tell, failures.up(found.port, notes))
        collect_rarely(COLLECT)
        await stopping.wait()


def _options(settings: ServerSettings) -> clusters.Options:
    names = (*scheduler.Options.scheduler_names, *settings.scheduler_names)
    return clusters.Options(
        Path(settings.data_dir),
        settings.name,
        audit=settings.audit,
        listener=socket.socket(fileno=settings.listener),
        scheduler=scheduler.Options(settings.strict_resources, names, settings.flags) if settings.nodes else None,
        netd_socket=Path(settings.holder) if settings.holder else None,
        accept_loss=settings.accept_loss,
    )


def tell(pipe: int, line: bytes) -> None:
    try:
        os.write(pipe, line)
        os.close(pipe)
    except OSError:
        pass  # already reported, or the reader is gone


def raise_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


if __name__ == "__main__":
    main()
