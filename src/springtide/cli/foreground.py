# SPDX-License-Identifier: Apache-2.0
"""`tide up` without `-d`: this process becomes the server until Ctrl-C, SIGTERM or the end of its terminal.

Imported by `up` when it is needed, because it brings the whole server with it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal

import click

from springtide.cli import messages
from springtide.cli.options import Chosen
from springtide.kube.errors import ApiError
from springtide.local import cluster as clusters
from springtide.local.datadir import InUseError
from springtide.local.store.backend import FullError
from springtide.local.store.sqlite import OpenError

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_OPEN_FILES = 65536
"""Wanted limit of open files: every watcher is a connection, and many systems start programs with 1,024."""


def run(cluster: Chosen, port: int | None, audit: bool) -> None:
    somebody_reads = not os.environ.get(messages.IN_BACKGROUND)
    logging.basicConfig(
        level=logging.WARNING if somebody_reads else logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    raise_limit()
    chosen_port = port if port is not None else usual_port(cluster)
    options = clusters.Options(cluster.place.path, cluster.name, chosen_port, audit)
    try:
        asyncio.run(_serve(cluster, options, somebody_reads))
    except InUseError:
        raise click.ClickException(messages.already_up(cluster)) from None
    except (OpenError, FullError, ApiError) as error:
        raise click.ClickException(messages.unusable(str(error), cluster)) from None
    except OSError as error:
        raise click.ClickException(messages.explained(error, cluster, chosen_port)) from None


def usual_port(cluster: Chosen) -> int:
    """The last one, so that kubeconfigs stay good over restarts; else 6443; else any."""
    last = cluster.place.last()
    usual = last.port if last else clusters.DEFAULT_PORT
    if clusters.port_is_free(usual):
        return usual
    if last:
        click.echo(f"Port {usual}, used the last time, is taken; taking another one.\n")
    return 0


def raise_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


async def _serve(cluster: Chosen, options: clusters.Options, announce: bool) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stopping.set)
    async with clusters.running(options) as found:
        if announce:
            click.echo(messages.next_steps(cluster, found.port))
            click.echo("\nCtrl-C stops it; its objects are kept.")
        await stopping.wait()
    if announce:
        click.echo(f"\nCluster {cluster.name!r} is down.")
