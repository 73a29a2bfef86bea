# SPDX-License-Identifier: Apache-2.0
"""`tide up` without `-d`: this process becomes the supervisor until Ctrl-C, SIGTERM or the end of its terminal.

Imported by `up` only when needed. The server and the nodes' agents are separate processes.
"""

from __future__ import annotations

import asyncio
import logging

import click

from springtide.cli import speaking
from springtide.cli.cluster import messages
from springtide.cli.cluster.background import Starter
from springtide.cli.cluster.down import waiting_for
from springtide.cli.options import Chosen
from springtide.cli.printing import let_go, say
from springtide.local.access.trust import UntrustedError
from springtide.local.datadir import DEFAULT_PORT, InUseError
from springtide.local.supervisor.failures import DeadError, FailedError, LostError
from springtide.local.supervisor.settings import Nodes, Settings
from springtide.local.supervisor.supervising import Report, supervise
from springtide.messages import Language, Text, shown, text


def run(
    cluster: Chosen, port: int | None, nodes: Nodes | None, *, audit: bool, operator: bool, accept_loss: bool
) -> None:
    starter = Starter.found()
    logging.basicConfig(
        level=logging.INFO if starter else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    wanted = port if port is not None else usual_port(cluster)
    settings = Settings(
        cluster.place.path,
        cluster.name,
        wanted,
        may_move=port is None,
        audit=audit,
        verbose=starter is not None,
        nodes=nodes,
        operator=operator,
        accept_loss=accept_loss,
        flags=cluster.flags,
    )
    try:
        asyncio.run(supervise(settings, _Told(cluster, starter, has_nodes=nodes is not None, has_operator=operator)))
    except (InUseError, UntrustedError, FailedError, DeadError, OSError) as error:
        why = _explained(error, cluster, wanted)
        if starter:
            starter.told(speaking.shown(why))
        raise click.ClickException(shown(why, _language(starter))) from None
    if not starter:
        say(speaking.shown(text("\nCluster {name!r} is down.", name=cluster.name)))
    let_go()


def _language(starter: Starter | None) -> Language:
    """In the background the output is the log, which is English."""
    return Language.ENGLISH if starter else speaking.language()


class _Told:
    """Reports progress to the starting command, or to the terminal."""

    def __init__(self, cluster: Chosen, starter: Starter | None, *, has_nodes: bool, has_operator: bool) -> None:
        self._cluster, self._starter = cluster, starter
        self._has_nodes, self._has_operator = has_nodes, has_operator

    def up(self, report: Report) -> None:
        if report.moved_from is not None:
            self._say(text("Port {port} is taken; taking another one.\n", port=report.moved_from))
        if self._starter:
            self._starter.told_up(report.port, report.notes)
            return
        has = {"has_nodes": self._has_nodes, "has_operator": self._has_operator}
        self._say(messages.next_steps(self._cluster, report.port, **has))
        for note in report.notes:
            say(f"\n! {note}")
        self._say(text("\nThese commands are for another terminal. Ctrl-C stops the cluster; its objects are kept."))

    def waiting(self, pods: int) -> None:
        if pods and not self._starter:
            self._say(text("\n{waiting} Ctrl-C again ends them at once.", waiting=waiting_for(pods)))

    def _say(self, message: Text) -> None:
        say(shown(message, _language(self._starter)))


def _explained(error: Exception, cluster: Chosen, port: int) -> Text:
    if isinstance(error, InUseError):
        return messages.already_up(cluster)
    if isinstance(error, OSError):
        return messages.explained(error, cluster, port)
    if isinstance(error, LostError):
        return messages.lost(str(error), cluster)
    return messages.unusable(str(error), cluster)


def usual_port(cluster: Chosen) -> int:
    """The last port, so that kubeconfigs stay valid across restarts."""
    last = cluster.place.last()
    return last.port if last else DEFAULT_PORT
