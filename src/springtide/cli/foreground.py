# SPDX-License-Identifier: Apache-2.0
"""`tide up` without `-d`: this process becomes the server until Ctrl-C, SIGTERM or the end of its terminal.

Imported by `up` when it is needed, because it brings the whole server with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import logging
import resource
import signal
from dataclasses import replace

import click

from springtide.cli import messages
from springtide.cli.background import Starter
from springtide.cli.options import Chosen
from springtide.kube.errors import ApiError
from springtide.local import cluster as clusters
from springtide.local.datadir import DataDir, InUseError
from springtide.local.store.backend import FullError
from springtide.local.store.sqlite import OpenError

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_COLLECT = (10_000, 20, 100)
_LOOK = 2.0
"""Seconds between looks at whether the data directory is still there."""
_OPEN_FILES = 65536
"""Wanted limit of open files: every watcher is a connection, and many systems start programs with 1,024."""


def run(cluster: Chosen, port: int | None, audit: bool) -> None:
    starter = Starter.found()
    logging.basicConfig(
        level=logging.INFO if starter else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    raise_limit()
    wanted = port if port is not None else usual_port(cluster)
    options = clusters.Options(cluster.place.path, cluster.name, wanted, audit)
    try:
        _run_somewhere(cluster, options, starter, may_move=port is None)
    except (InUseError, OpenError, FullError, ApiError, OSError) as error:
        why = _explained(error, cluster, wanted)
        if starter:
            starter.told(why)
        raise click.ClickException(why) from None


def _run_somewhere(cluster: Chosen, options: clusters.Options, starter: Starter | None, may_move: bool) -> None:
    """On another port if the usual one is taken. Trying is the only way to know: others start at the same time."""
    try:
        asyncio.run(_serve(cluster, options, starter))
    except OSError as error:
        if not may_move or error.errno != errno.EADDRINUSE:
            raise
        click.echo(f"Port {options.port} is taken; taking another one.\n")
        asyncio.run(_serve(cluster, replace(options, port=0), starter))


def _explained(error: Exception, cluster: Chosen, port: int) -> str:
    if isinstance(error, InUseError):
        return messages.already_up(cluster)
    if isinstance(error, OSError):
        return messages.explained(error, cluster, port)
    return messages.unusable(str(error), cluster)


def usual_port(cluster: Chosen) -> int:
    """The last one, so that kubeconfigs stay good over restarts."""
    last = cluster.place.last()
    return last.port if last else clusters.DEFAULT_PORT


def raise_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def collect_rarely() -> None:
    """Requests leave hardly any cycles behind, and looking for them among all that stays takes a twentieth of the
    server's time: what was made so far is never looked at again, and the rest less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT)


async def _until_stopped(stopping: asyncio.Event, directory: DataDir) -> None:
    """Also ends when somebody removes the directory: what is written after that would be acknowledged and lost."""
    while directory.is_still_there():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), _LOOK)
            return
    logging.warning("%s is gone; stopping", directory.path)


async def _serve(cluster: Chosen, options: clusters.Options, starter: Starter | None) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stopping.set)
    async with clusters.running(options) as found:
        if starter:
            starter.told_up(found.port)
        else:
            click.echo(messages.next_steps(cluster, found.port))
            click.echo("\nCtrl-C stops it; its objects are kept.")
        collect_rarely()
        await _until_stopped(stopping, found.directory)
    if not starter:
        click.echo(f"\nCluster {cluster.name!r} is down.")
