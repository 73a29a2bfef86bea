# SPDX-License-Identifier: Apache-2.0
"""Looks for a node, and waits until it is ready or gone, for the commands of `tide node`."""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from springtide.cli import durations
from springtide.cli.nodes import draining, node_table
from springtide.cli.options import Chosen
from springtide.cli.speaking import say, shown
from springtide.kube.errors import NotFound
from springtide.kube.resources import NODES, Key, Obj
from springtide.messages import Text, text

if TYPE_CHECKING:
    from springtide.kube.client import Client

_START = 30.0
"""Seconds for a new node to become ready."""
_LATE = 15.0
"""Seconds after which a node that should be deleted is checked."""
_LOOK_AGAIN = 0.2


async def find(client: Client, name: str) -> Obj:
    try:
        return await client.get(NODES, Key("", name))
    except NotFound:
        known = ", ".join(sorted(found["metadata"]["name"] for found in (await client.list(NODES)).items))
        why = text("there is no node {name!r}\nNodes: {known}", name=name, known=known or text("none"))
        raise click.ClickException(shown(why)) from None


async def until_ready(client: Client, name: str, cluster: Chosen) -> None:
    deadline = time.monotonic() + _START
    while not node_table.state_of(await find(client, name), datetime.now(UTC)).startswith("Ready"):
        if time.monotonic() > deadline:
            log = cluster.place.path / "nodes" / name / "agent.log"
            why = text(
                "node {name!r} is not ready after {span}\nIts agent's log is {log}",
                name=name,
                span=durations.shown(_START),
                log=log,
            )
            raise click.ClickException(shown(why))
        await asyncio.sleep(_LOOK_AGAIN)
    say(text("Node {name!r} is ready.", name=name))


async def count_down(client: Client, found: Obj, at: datetime, cluster: Chosen) -> None:
    name, uid = found["metadata"]["name"], found["metadata"]["uid"]
    pods = 0
    while (current := await client.find(NODES, Key("", name))) is not None and current["metadata"]["uid"] == uid:
        left = (at - datetime.now(UTC)).total_seconds()
        if left < -_LATE:
            why = text("node {name!r} should be gone but is not\nThe log is {log}", name=name, log=cluster.place.log)
            raise click.ClickException(shown(why))
        pods = len(await draining.pods_on(client, name))
        _show(shown(text("  {span} left, {pods}", span=durations.shown(left), pods=_counted(pods))))
        await asyncio.sleep(_LOOK_AGAIN)
    _show("")
    say(text("Node {name!r} is gone, and {pods} with it.", name=name, pods=_counted(pods)))


def _counted(pods: int) -> Text:
    return text("1 pod" if pods == 1 else "{count} pods", count=pods)


def _show(line: str) -> None:
    """Replaces the previous line on a terminal; prints nothing elsewhere."""
    if sys.stdout.isatty():
        click.echo(f"\r\x1b[K{line}", nl=False)
