# SPDX-License-Identifier: Apache-2.0
"""`tide up`: the embedded cluster in the foreground, or with `-d` in the background."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click

from springtide.cli.options import directory, which_cluster
from springtide.local import cluster
from springtide.local.datadir import DataDir, InUseError
from springtide.local.store.sqlite import OpenError

_WAIT = 30.0


@click.command()
@which_cluster
@click.option("--port", type=click.IntRange(0, 65535), help="Port on 127.0.0.1; the last one, 6443 or a free one.")
@click.option("-d", "--detach", is_flag=True, help="Run in the background.")
@click.option("--audit", is_flag=True, help="Write a line per change to audit.log in the data directory.")
def up(name: str, data_dir: Path | None, port: int | None, detach: bool, audit: bool) -> None:
    """Start the embedded cluster."""
    place = directory(name, data_dir)
    if place.is_running():
        raise click.ClickException(
            f"a cluster runs in {place.path} already\nSee it with: tide status    Stop it with: tide down"
        )
    options = cluster.Options(place.path, name, _chosen_port(place, port), audit)
    if detach:
        _in_background(place, options)
        return
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        asyncio.run(_run(options, announce=sys.stdout.isatty() or not os.environ.get("SPRINGTIDE_DETACHED")))
    except InUseError:
        raise click.ClickException(f"another tide is starting in {place.path}") from None
    except OpenError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(_explained(error, options)) from None


def _chosen_port(place: DataDir, asked: int | None) -> int:
    """A cluster keeps its port over restarts, so that kubeconfigs stay good; a second cluster takes a free one."""
    if asked is not None:
        return asked
    last = place.last()
    if last is not None:
        return last.port
    return cluster.DEFAULT_PORT if cluster.port_is_free(cluster.DEFAULT_PORT) else 0


def _explained(error: OSError, options: cluster.Options) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {options.port} is taken\nChoose another one: tide up --port 0 takes any that is free"
    if error.errno in (errno.EACCES, errno.EROFS):
        return f"cannot write to {options.data_dir}: {error.strerror}\nChoose another directory: tide up --data-dir DIR"
    if error.errno == errno.ENOSPC:
        return f"the disk of {options.data_dir} is full\nFree some space or choose another directory with --data-dir"
    return str(error)


async def _run(options: cluster.Options, announce: bool) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    async with cluster.running(options) as found:
        if announce:
            click.echo(next_steps(found.directory, found.url))
            click.echo("\nCtrl-C stops it; nothing is lost.")
        await stopping.wait()


def next_steps(place: DataDir, url: str) -> str:
    return (
        f"The cluster is up at {url}\n\n"
        f"  export KUBECONFIG={place.kubeconfig}\n"
        "  kubectl get nodes\n\n"
        "or add it to your own kubeconfig: tide kubeconfig --merge"
    )


def _in_background(place: DataDir, options: cluster.Options) -> None:
    place.path.mkdir(parents=True, exist_ok=True, mode=0o700)
    place.kubeconfig.unlink(missing_ok=True)  # written again when the server answers: that is what is waited for
    command = [sys.executable, "-m", "springtide.cli", "up", "--name", options.name, "--data-dir", str(place.path)]
    command += ["--port", str(options.port)] + (["--audit"] if options.audit else [])
    with place.log.open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "SPRINGTIDE_DETACHED": "1"},
        )
    deadline = time.monotonic() + _WAIT
    while not place.kubeconfig.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise click.ClickException(f"the cluster did not start; its last words:\n{_last_words(place.log)}")
        time.sleep(0.02)
    last = place.last()
    click.echo(next_steps(place, f"https://127.0.0.1:{last.port if last else options.port}"))
    click.echo("\nStop it with: tide down")


def _last_words(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])
