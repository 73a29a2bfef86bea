# SPDX-License-Identifier: Apache-2.0
"""`tide up`: the embedded cluster in the foreground, or with `-d` in the background.

In the background it is the same command again, as a process of its own; this one waits until that one's server answers
and passes on its last words if it fails. It never imports the server.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import click

from springtide.cli import messages
from springtide.cli.options import Chosen, which_cluster

_WAIT = 30.0
_LONGEST_LOG = 10 * 1024 * 1024


@click.command()
@which_cluster
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Port on 127.0.0.1; 0 takes any free one.  [default: 6443]",
)
@click.option("-d", "--detach", is_flag=True, help="Run in the background.")
@click.option("--audit", is_flag=True, help="Write a line per change to audit.log in the data directory.")
def up(cluster: Chosen, port: int | None, detach: bool, audit: bool) -> None:
    """Start the embedded cluster and say how to reach it.

    Without -d it runs until Ctrl-C. Its objects are kept in the data directory and come back with the next start, on
    the same port. Several clusters run side by side under different names.
    """
    if cluster.is_running():
        raise click.ClickException(messages.already_up(cluster))
    if detach:
        _in_background(cluster, port, audit)
        return
    # Imported here because the server takes a second, and neither --help nor -d need it.
    from springtide.cli.foreground import run  # noqa: PLC0415

    run(cluster, port, audit)


def _in_background(cluster: Chosen, port: int | None, audit: bool) -> None:
    place = cluster.place
    before = _stamp(place.kubeconfig)
    try:
        place.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if place.log.exists() and place.log.stat().st_size > _LONGEST_LOG:
            place.log.replace(place.log.with_suffix(".log.1"))
        log = place.log.open("ab")
    except OSError as error:
        raise click.ClickException(messages.explained(error, cluster, port)) from None
    with log:
        begin = log.tell()
        process = _started(cluster, port, audit, log.fileno())
    try:
        # The kubeconfig is replaced once the server answers.
        while _stamp(place.kubeconfig) == before:
            if process.wait_briefly():
                raise click.ClickException(_last_words(place.log, begin))
    except KeyboardInterrupt:
        process.stop()
        raise
    last = place.last()
    click.echo(messages.next_steps(cluster, last.port if last else 0))
    click.echo(f"\nStop it with: tide down{cluster.flags}")


class _Process:
    """The server's process while it is waited for."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._deadline = time.monotonic() + _WAIT

    def wait_briefly(self) -> bool:
        """Whether waiting makes no more sense."""
        try:
            self._process.wait(0.02)
        except subprocess.TimeoutExpired:
            if time.monotonic() < self._deadline:
                return False
            self.stop()
        return True

    def stop(self) -> None:
        self._process.terminate()


def _started(cluster: Chosen, port: int | None, audit: bool, log: int) -> _Process:
    command = [sys.executable, "-m", "springtide.cli", "up", "--name", cluster.name]
    command += ["--data-dir", str(cluster.place.path)]
    command += ["--port", str(port)] if port is not None else []
    command += ["--audit"] if audit else []
    environment = {**os.environ, messages.IN_BACKGROUND: "1"}
    return _Process(
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=environment
        )
    )


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except (FileNotFoundError, PermissionError):
        return None
    return found.st_ino, found.st_mtime_ns


def _last_words(log: Path, begin: int) -> str:
    """What the server said before it gave up: the explanation if it had one, else all of it."""
    with log.open("rb") as file:
        file.seek(begin)
        said = file.read().decode(errors="replace").strip()
    _, found, explanation = said.rpartition("Error: ")
    if found:
        return explanation
    return f"the cluster did not start within {_WAIT:.0f} s\n{said}".strip() + f"\nIts log is {log}"
