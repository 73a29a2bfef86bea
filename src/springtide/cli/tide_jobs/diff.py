# SPDX-License-Identifier: Apache-2.0
"""`tide diff -f job.yaml`: what a manifest would change. Exit code 1 if anything."""

from __future__ import annotations

import sys

import click

from springtide.cli.connecting import Target, on_cluster
from springtide.cli.errors import ExitCode, Failure
from springtide.cli.jobs.changing import creating, manifest_files
from springtide.cli.jobs.changing.creating import Difference
from springtide.cli.tide_jobs import options
from springtide.kube.client import Client
from springtide.messages.terminals import harmless

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command(epilog="Example: tide diff -f job.yaml")
@on_cluster()
@options.files_option(required=True)
def diff(target: Target, files: tuple[str, ...]) -> None:
    """Show what a manifest would change in the cluster.

    Nothing is changed: the server answers what it would store. Exit code 0 for no difference, 1 for some, 2 and more
    for errors.
    """
    # Imported here because difflib and the YAML writer are not needed for --help.
    from springtide.views.differing import difference  # noqa: PLC0415

    context = click.get_current_context()
    chosen = context.params.get("namespace") or ""
    manifests = [
        manifest_files.in_namespace(obj, target.namespace, chosen=bool(chosen)) for obj in manifest_files.read(files)
    ]

    async def conversation(client: Client) -> list[Difference]:
        return await creating.differences(client, manifests)

    try:
        compared = target.talk(conversation)
    except Failure as failure:
        if failure.exit_code == ExitCode.ERROR:
            failure.exit_code = int(ExitCode.USAGE)  # type: ignore[misc]  # 1 means that there is a difference
        raise
    found = [difference(each.title, each.live, each.wanted) for each in compared]
    for line in harmless("".join(found)).splitlines():
        click.echo(click.style(line, fg=_COLOURS.get(line[:1])) if sys.stdout.isatty() else line)
    if any(found):
        context.exit(ExitCode.ERROR)
