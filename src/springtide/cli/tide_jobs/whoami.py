# SPDX-License-Identifier: Apache-2.0
"""`tide whoami`: the user that the cluster sees, and which cluster and namespace commands use."""

from __future__ import annotations

import json
from typing import Any, Final

import click

from springtide.cli.connecting import Target, on_cluster
from springtide.cli.jobs import users
from springtide.kube.client import Client

_HEADS: Final = {"user": "User", "groups": "Groups", "cluster": "Cluster", "namespace": "Namespace"}


@click.command(epilog="Example: tide whoami -o json")
@on_cluster()
@click.option("-o", "--output", type=click.Choice(["json"]), help="Print JSON.")
def whoami(target: Target, output: str | None) -> None:
    """Show who you are to the cluster, and the cluster and the namespace that commands use."""

    async def asked(client: Client) -> dict[str, Any]:
        info = await users.identity(client)
        administrator = await users.is_administrator(
            client, await users.user_of(client, target.connection), users.ARENA_NAMESPACE
        )
        return {
            "user": info.get("username", ""),
            "groups": list(info.get("groups") or ()),
            "cluster": target.connection.server,
            "embedded": target.embedded,
            "namespace": target.namespace,
            "arenaAdministrator": administrator,
        }

    found = target.talk(asked)
    if output == "json":
        click.echo(json.dumps(found, indent=4, ensure_ascii=False))
        return
    for name, head in _HEADS.items():
        value = ", ".join(found[name]) if isinstance(found[name], list) else found[name]
        where = f" (embedded cluster {target.embedded})" if name == "cluster" and target.embedded else ""
        click.echo(f"{head + ':':<11} {value}{where}")
