# SPDX-License-Identifier: Apache-2.0
"""`tide down`: stops the embedded cluster. Objects stay on disk for the next `tide up`."""

from __future__ import annotations

import os
import signal
import time

import click

from springtide.cli.commands import ClusterCommand
from springtide.cli.durations import Duration
from springtide.cli.options import Chosen, which_cluster
from springtide.cli.speaking import say, shown
from springtide.local.supervisor import leftovers
from springtide.local.supervisor.endings import Ending, ask
from springtide.messages import Text, text

_WAIT = 30.0
"""Seconds in which a cluster without pods must have stopped."""
_SILENCE = 2.0
"""Seconds after which the wait is explained."""
_EXIT = 2.0
"""Seconds for a supervisor that has stopped everything else to exit."""


@click.command(cls=ClusterCommand)
@which_cluster
@click.option("--keep-pods", is_flag=True, help="Leave pods running; the next `tide up` takes them over.")
@click.option(
    "--grace",
    type=Duration(),
    metavar="TIME",
    help="Kill pods that still run then, such as 10s; 0 kills at once.  [default: each pod's own grace period]",
)
def down(cluster: Chosen, keep_pods: bool, grace: float | None) -> None:
    """Stop the embedded cluster; its objects are kept.

    Pods have their grace period to end. Running jobs are listed; they continue with the next `tide up`. Returns when
    all processes have ended. `tide delete --cluster` removes the objects as well.
    """
    if keep_pods and grace is not None:
        raise click.UsageError(shown(text("--keep-pods and --grace contradict each other")))
    if not cluster.is_running():
        left = _left_running(cluster)
        say(text("Cluster {name!r} {state}.{left}", name=cluster.name, state=cluster.state(), left=left))
        return
    # Imported here because a stopped cluster does not need it.
    from springtide.cli.cluster import running_jobs  # noqa: PLC0415

    click.echo(running_jobs.notice(cluster.place.kubeconfig, keep_pods=keep_pods), nl=False)
    stop(cluster, keep_pods=keep_pods, grace=grace)
    say(
        text(
            "Cluster {name!r} is down.{pods} Its objects are kept: {command} brings them back.",
            name=cluster.name,
            pods=text(" Its pods run on.") if keep_pods and leftovers.living(cluster.place) else "",
            command=cluster.command("up"),
        )
    )


def stop(cluster: Chosen, *, keep_pods: bool = False, grace: float | None = None) -> None:
    """Stops a running cluster and waits for its end."""
    _leave_word(cluster, keep_pods, grace)
    process = _asked_to_stop(cluster)
    _wait(cluster, process)
    if process is not None:
        _wait_for_exit(process)


def waiting_for(pods: int) -> Text:
    return text("Waiting for 1 pod to end." if pods == 1 else "Waiting for {count} pods to end.", count=pods)


def _left_running(cluster: Chosen) -> str | Text:
    """A note on running pods, after `--keep-pods` or when everything but the pods was killed."""
    count = leftovers.living(cluster.place)
    if not count:
        return ""
    return text(
        " 1 pod runs on. To end them: {up} and then {down}"
        if count == 1
        else " {count} pods run on. To end them: {up} and then {down}",
        count=count,
        up=cluster.command("up -d"),
        down=cluster.command("down"),
    )


def _leave_word(cluster: Chosen, keep_pods: bool, grace: float | None) -> None:
    """Writes the options only if there are any: a full disk must not keep a cluster from stopping."""
    if keep_pods or grace is not None:
        try:
            ask(cluster.place, Ending(keep_pods, grace))
        except OSError as error:
            why = text(
                "cannot write to {path}: {why}\nFree some space, or leave the options out, which needs none: {command}",
                path=cluster.place.path,
                why=error.strerror,
                command=cluster.command("down"),
            )
            raise click.ClickException(shown(why)) from None


def _asked_to_stop(cluster: Chosen) -> int | None:
    """Sends SIGTERM to the process in the lock file, which is valid while the lock is held; returns its id."""
    deadline = time.monotonic() + 1
    while (process := cluster.place.process()) is None and cluster.is_running() and time.monotonic() < deadline:
        time.sleep(0.01)
    if process is not None:
        try:
            os.kill(process, signal.SIGTERM)
        except ProcessLookupError:
            pass  # it has just exited
        except PermissionError:
            why = text("process {process} belongs to another user", process=process)
            raise click.ClickException(shown(why)) from None
    return process


def _wait(cluster: Chosen, process: int | None) -> None:
    """Waits until the cluster has stopped, without limit while pods are running."""
    begun = since_pods = time.monotonic()
    said = False
    while cluster.is_running():
        now = time.monotonic()
        if now - begun > _SILENCE and (count := leftovers.living(cluster.place)):
            since_pods = now
            if not said:
                waiting, command = waiting_for(count), cluster.command("down --grace 0")
                say(text("{waiting} At once, from another terminal: {command}", waiting=waiting, command=command))
                said = True
        if now - since_pods > _WAIT:
            why = text(
                "process {process} has not stopped after {seconds} s\nEnd it with: {command}\n"
                "Everything that was acknowledged is on disk.",
                process=process,
                seconds=f"{_WAIT:.0f}",
                command=f"kill -9 {process}",
            )
            raise click.ClickException(shown(why))
        time.sleep(0.02)


def _wait_for_exit(process: int) -> None:
    """Waits for the exit, shortly after the lock is released. A zombie counts as running, hence the limit."""
    deadline = time.monotonic() + _EXIT
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except (ProcessLookupError, PermissionError):  # it has exited; its id may be another user's by now
            return
        time.sleep(0.01)
