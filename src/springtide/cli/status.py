# SPDX-License-Identifier: Apache-2.0
"""`tide status`: whether the embedded cluster runs, where, and what is in it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from springtide.cli.options import directory, which_cluster
from springtide.kube.client import Client
from springtide.kube.errors import ApiError
from springtide.kube.resources import NAMESPACES, NODES, PODS


@click.command()
@which_cluster
@click.pass_context
def status(ctx: click.Context, name: str, data_dir: Path | None) -> None:
    """Say whether the embedded cluster runs, and how to reach it. Exits with 3 when it does not."""
    place = directory(name, data_dir)
    last = place.last()
    if not place.is_running() or last is None:
        click.echo(f"{name}: stopped ({place.path})")
        ctx.exit(3)
    click.echo(f"{name}: running, process {last.pid}, https://127.0.0.1:{last.port}")
    click.echo(f"data directory: {place.path} ({_size(place.path)})")
    click.echo(f"kubeconfig:     {place.kubeconfig}")
    try:
        counts = asyncio.run(_counts(place.kubeconfig))
    except ApiError as error:
        raise click.ClickException(f"the server does not answer: {error}") from None
    click.echo("objects:        " + ", ".join(f"{count} {what}" for what, count in counts.items()))


async def _counts(kubeconfig: Path) -> dict[str, int]:
    async with await Client.connect(str(kubeconfig)) as client:
        found = {}
        for resource in (NODES, NAMESPACES, PODS):
            found[resource.plural] = len((await client.list_raw(resource))[0])
        return found


def _size(path: Path) -> str:
    total = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return f"{total / 1024 / 1024:.1f} MiB"
