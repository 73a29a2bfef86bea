# SPDX-License-Identifier: Apache-2.0
"""`tide node`: the nodes of this machine. All commands use the Kubernetes API.

Labels and taints are set by `kubectl label` and `kubectl taint`; these commands do what kubectl cannot do, or not in
one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from springtide.cli import durations
from springtide.cli.cluster_client import talk
from springtide.cli.commands import CommandGroup
from springtide.cli.completion import choices
from springtide.cli.durations import Duration
from springtide.cli.nodes import draining, node_table, waiting
from springtide.cli.options import Chosen, which_cluster
from springtide.cli.speaking import page, say, shown
from springtide.kube.errors import AlreadyExists
from springtide.kube.request import DeleteOptions
from springtide.kube.resources import NODES, PODS, Key, Obj
from springtide.local.supervisor.nodes import node_specs
from springtide.messages import Text, text

if TYPE_CHECKING:
    from springtide.kube.client import Client


@click.group(
    cls=CommandGroup,
    other_words={"delete": "remove", "rm": "remove", "ls": "list", "create": "add"},
    context_settings={"help_option_names": ["-h", "--help"]},
)
def node() -> None:
    """Show, add, drain, remove and reclaim nodes."""


@node.command("list")
@which_cluster
def list_nodes(cluster: Chosen) -> None:
    """Show the nodes: their state, what they offer and what is used of it."""

    async def look(client: Client) -> tuple[list[Obj], list[Obj]]:
        return (await client.list(NODES)).items, (await client.list(PODS)).items

    nodes, pods = talk(cluster, look)
    if not nodes:
        say(text("There are no nodes.\nAdd one with: {command}", command=cluster.command("node add worker-1")))
        return
    page(node_table.table([node_table.HEADER, *node_table.rows(nodes, pods, datetime.now(UTC))]))


@node.command()
@which_cluster
@click.argument("specs", nargs=-1, required=True, metavar="NAME[=cpu:8,memory:32Gi,...]...")
@click.option("--no-wait", is_flag=True, help="Return at once instead of when the nodes are ready.")
def add(cluster: Chosen, specs: Sequence[str], no_wait: bool) -> None:
    """Add nodes, with the given resources or else those of the machine.

    \b
    tide node add gpu-a=cpu:8,memory:32Gi,nvidia.com/gpu:4
    tide node add spot-b=cpu:4,spot,label:disk=fast,taint:team=vision:NoSchedule
    """
    try:
        wanted = [node_specs.parse(spec) for spec in specs]
    except node_specs.SpecError as error:
        raise click.ClickException(str(error)) from None

    async def create(client: Client) -> None:
        for described in wanted:
            name = described["metadata"]["name"]
            try:
                await client.create(NODES, described)
            except AlreadyExists:
                command = cluster.command(f"node remove {name}")
                why = text("there is a node {name!r} already\nRemove it first: {command}", name=name, command=command)
                raise click.ClickException(shown(why)) from None
            say(text("Node {name!r} is added.", name=name))
        if not no_wait:
            for described in wanted:
                await waiting.until_ready(client, described["metadata"]["name"], cluster)

    talk(cluster, create)


@node.command()
@which_cluster
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=choices.nodes)
@click.option("--force", is_flag=True, help="Do not drain first; pods have their grace period to end.")
@click.option("--timeout", type=Duration(), default=0, metavar="TIME", help="Give up after so long, such as 2m.")
def remove(cluster: Chosen, names: Sequence[str], force: bool, timeout: float) -> None:
    """Drain nodes, then remove them."""

    async def carry_out(client: Client) -> None:
        for name in names:
            found = await waiting.find(client, name)
            if not force:
                await _drain(
                    client,
                    name,
                    draining.Terms(cluster.command, timeout),
                    text("\nOr remove it at once: {command}", command=cluster.command(f"node remove {name} --force")),
                )
            await client.delete(NODES, Key("", name), DeleteOptions(uid=found["metadata"]["uid"]))
            say(text("Node {name!r} is removed.", name=name))

    talk(cluster, carry_out)


@node.command()
@which_cluster
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=choices.nodes)
def cordon(cluster: Chosen, names: Sequence[str]) -> None:
    """Stop scheduling new pods on nodes.

    Running pods stay; jobs that scale in remove workers on cordoned nodes first. To evict pods: tide node drain.
    """
    _set_cordoned(cluster, names, True)


@node.command()
@which_cluster
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=choices.nodes)
def uncordon(cluster: Chosen, names: Sequence[str]) -> None:
    """Schedule pods on nodes again."""
    _set_cordoned(cluster, names, False)


@node.command()
@which_cluster
@click.argument("name_of_node", metavar="NAME", shell_complete=choices.nodes)
@click.option("--timeout", type=Duration(), default=0, metavar="TIME", help="Give up after so long, such as 2m.")
@click.option("--force", is_flag=True, help="Evict also pods that no controller would create again.")
@click.option("--grace", type=Duration(), metavar="TIME", help="Time for pods to end, instead of their own.")
def drain(cluster: Chosen, name_of_node: str, timeout: float, force: bool, grace: float | None) -> None:
    """Cordon a node and evict its pods, as far as disruption budgets allow.

    Elastic training jobs are notified first: they replace their workers on the node before these are deleted. Workers
    that remain after a minute are evicted like other pods.
    """
    terms = draining.Terms(cluster.command, timeout, force, None if grace is None else round(grace))

    async def carry_out(client: Client) -> None:
        await waiting.find(client, name_of_node)
        await _drain(client, name_of_node, terms)
        say(text("Node {name!r} is drained.", name=name_of_node))

    talk(cluster, carry_out)


@node.command()
@which_cluster
@click.argument("name_of_node", metavar="NAME", shell_complete=choices.nodes)
@click.option(
    "--notice", type=Duration(), default="30s", show_default=True, metavar="TIME", help="Time until it is gone."
)
@click.option("--no-wait", is_flag=True, help="Return when notice is given instead of when the node is gone.")
def reclaim(cluster: Chosen, name_of_node: str, notice: float, no_wait: bool) -> None:
    """Reclaim a node as a cloud reclaims a spot instance: first notice, then deletion.

    With the notice the node is tainted springtide.dev/reclaim and takes no new pods. When the time is up everything on
    it is killed and the node is deleted.
    """

    async def carry_out(client: Client) -> None:
        found = await waiting.find(client, name_of_node)
        if node_specs.LOCAL not in (found["metadata"].get("labels") or {}):
            why = text("node {name!r} is not one of this machine's, so it cannot be reclaimed", name=name_of_node)
            raise click.ClickException(shown(why))
        at = datetime.now(UTC) + timedelta(seconds=notice)
        metadata = {
            "annotations": {node_specs.RECLAIM_AT: at.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
        }
        await client.patch(NODES, Key("", name_of_node), {"metadata": metadata})
        say(text("Node {name!r} will be gone in {span}.", name=name_of_node, span=durations.shown(notice)))
        if not no_wait:
            await waiting.count_down(client, found, at, cluster)

    talk(cluster, carry_out)


async def _drain(client: Client, name: str, terms: draining.Terms, advice: str | Text = "") -> None:
    try:
        await draining.drain(client, name, terms, say)
    except draining.DrainError as error:
        raise click.ClickException(shown(text("{why}{advice}", why=error.why, advice=advice))) from None


def _set_cordoned(cluster: Chosen, names: Sequence[str], cordoned: bool) -> None:
    async def carry_out(client: Client) -> None:
        for name in names:
            await waiting.find(client, name)
            await draining.cordon(client, name, cordoned)
            say(text("Node {name!r} takes no new pods." if cordoned else "Node {name!r} takes pods again.", name=name))

    talk(cluster, carry_out)
