# SPDX-License-Identifier: Apache-2.0
"""`tide tensorboard JOB`: a port of this machine that leads to the TensorBoard of a job."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence

import click

from springtide.cli import connecting, speaking
from springtide.cli.connecting import cluster_options
from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs.tensorboard import forwarded_ports, tensorboard_processes, tensorboards
from springtide.cli.jobs.tensorboard.tensorboard_processes import Pipe
from springtide.cli.jobs.tensorboard.tensorboards import Deployed
from springtide.cli.tide_jobs import options
from springtide.kube.client import Client
from springtide.messages import Text, text
from springtide.views.tensorboards import address


@click.command(
    epilog="""\b
Examples:
  tide tensorboard bert
  tide tensorboard bert -d
  tide tensorboard bert --port 6006"""
)
@cluster_options
@options.job_argument
@click.option("-d", "--detach", is_flag=True, help="In the background, until the job is deleted.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="A port of 127.0.0.1.  [default: a free one]",
)
@click.option("--report-to", type=int, hidden=True, help="A pipe to the command that waits.")
def tensorboard(name: str, detach: bool, port: int, report_to: int | None, **where: str) -> None:
    """Forward a port of this machine to the TensorBoard of a job, and print the address.

    `submit --tensorboard` does so by itself; this is for another machine, or after a restart of this one.
    """
    target = connecting.found(where["kubeconfig"], where["context"], where["namespace"])
    place = tensorboard_processes.options(name, target.namespace, where["kubeconfig"], where["context"])
    told = _Terminal(name) if report_to is None else Pipe(report_to)

    async def forwarded(client: Client) -> None:
        await _forward(client, await tensorboards.deployed(client, target.namespace, name), port, told)

    try:
        if detach:
            board = target.talk(lambda client: tensorboards.deployed(client, target.namespace, name))
            if (known := forwarded_ports.port(board.uid)) is not None:
                _Terminal(name).listening(known)
            else:
                _show_in_background(name, [f"--port={port}", *place])
        else:
            target.talk(forwarded, streams=True)
    except Failure as failure:
        if isinstance(told, Pipe):
            told.failed(failure)
        raise


def show_submitted(name: str, place: Sequence[str], show: Callable[[Text], None]) -> None:
    """The job is submitted whether or not there is an address."""
    try:
        _show_in_background(name, place, show)
    except Failure as failure:
        speaking.note(text("TensorBoard is not shown: {why}", why=failure.what))
        speaking.note(text("try again with: {command}", command=f"tide tensorboard {name} -d"))


def _show_in_background(name: str, place: Sequence[str], show: Callable[[Text], None] = speaking.say) -> None:
    """Shows the address as soon as there is an answer, or why there is none yet. `place` leads to the job."""
    try:
        started = tensorboard_processes.start(place, speaking.note)
    except OSError as error:
        raise _cannot_listen(error, 0) from None
    show(_shown_at(name, started.url))
    if started.waits is not None:
        speaking.note(text("It does not answer yet, but will as soon as it can."))


async def _forward(client: Client, board: Deployed, port: int, told: _Terminal | Pipe) -> None:
    # Imported here because the command that only starts a process in the background needs none of it.
    from springtide.cli.jobs.tensorboard.tensorboard_forwarding import forward  # noqa: PLC0415

    try:
        with forwarded_ports.held(board.uid) as holder:
            if holder is None:
                return _forwarded_by_another(board, told)
            await forward(client, board, port, _Noting(told, holder))
    except OSError as error:
        raise _cannot_listen(error, port) from None
    raise Failure(text("The TensorBoard of {name} was deleted.", name=board.job), code=ExitCode.CANCELLED)


def _forwarded_by_another(board: Deployed, told: _Terminal | Pipe) -> None:
    known = forwarded_ports.port(board.uid)
    if known is None:
        raise Failure(
            text("Another process is about to forward a port to the TensorBoard of {name}.", name=board.job),
            hint=text("see the address with: {command}", command=f"tide get {board.job}"),
        )
    told.listening(known)
    told.answers()


def _cannot_listen(error: OSError, port: int) -> Failure:
    said = os.strerror(error.errno) if error.errno else str(error)
    why = text("{why}", why=f"{error.filename}: {said}" if error.filename else said)
    if error.errno in (errno.EADDRINUSE, errno.EACCES) and error.filename is None:
        hint = text("take any that is free: leave out {option}", option="--port")
        return Failure(text("Port {port} cannot be used.", port=port), why, hint)
    return Failure(text("TensorBoard cannot be shown on this machine."), why)


class _Terminal:
    """Of a process in the foreground."""

    def __init__(self, job: str) -> None:
        self._job, self._shown = job, ""

    def listening(self, port: int) -> None:
        speaking.say(_shown_at(self._job, address(port)))

    def waits(self, why: Text, *, needs_help: bool) -> None:
        if (now := speaking.shown(why)) != self._shown:
            click.echo(now, err=True)
        self._shown = now

    def answers(self) -> None:
        if self._shown:
            speaking.note(text("TensorBoard answers."))
        self._shown = ""


def _shown_at(job: str, url: str) -> Text:
    return text("TensorBoard of {name}: {url}", name=job, url=url)


class _Noting:
    """Writes the port down, for other commands, and passes everything on."""

    def __init__(self, told: _Terminal | Pipe, holder: forwarded_ports.Holder) -> None:
        self._told, self._holder = told, holder

    def listening(self, port: int) -> None:
        self._holder.write(port)
        self._told.listening(port)

    def waits(self, why: Text, *, needs_help: bool) -> None:
        self._told.waits(why, needs_help=needs_help)

    def answers(self) -> None:
        self._told.answers()
