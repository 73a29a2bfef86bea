# SPDX-License-Identifier: Apache-2.0
"""The options `--dry-run` and `-o` of commands that create objects, and the lines about what they have created."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from springtide.cli import speaking
from springtide.cli.jobs.changing.creating import Created
from springtide.kube.resources import Obj
from springtide.messages import text


@dataclass(frozen=True, slots=True)
class DryRun:
    where: str
    """client, server, or none."""
    output: str
    """yaml, json, name, or empty: a line for each object."""

    @property
    def by_client(self) -> bool:
        return self.where == "client"

    @property
    def by_server(self) -> bool:
        return self.where == "server"

    def print_manifests(self, objects: Sequence[Obj]) -> None:
        """Without `-o`, a dry run on the client prints YAML: there is nothing else to show."""
        output = self.output or ("yaml" if self.by_client else "")
        shown = [_without_managers(obj) for obj in objects]
        if output == "json":
            whole = shown[0] if len(shown) == 1 else {"apiVersion": "v1", "kind": "List", "items": shown}
            speaking.document(json.dumps(whole, indent=4, ensure_ascii=False))
        elif output == "yaml":
            import yaml  # noqa: PLC0415 - slow to import, and seldom needed

            speaking.document(yaml.safe_dump_all(shown, sort_keys=False, allow_unicode=True), end=False)


def _without_managers(obj: Obj) -> Obj:
    return {
        **obj,
        "metadata": {name: value for name, value in obj["metadata"].items() if name != "managedFields"},
    }


def show_created(dry_run: DryRun) -> Callable[[Created], None]:
    def show(created: Created) -> None:
        if dry_run.output == "name":
            speaking.document(created.title)
        elif not dry_run.output and dry_run.by_server:
            speaking.say(text("{name} created (server dry run)", name=created.title))
        elif not dry_run.output:
            speaking.say(text("{name} created", name=created.title))

    return show


def dry_run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds both options to a command, which gets a `DryRun`."""

    @functools.wraps(command)
    def with_dry_run(*args: Any, dry_run: str, output: str | None, **options: Any) -> Any:
        return command(*args, dry_run=DryRun(dry_run, output or ""), **options)

    found = click.option(
        "-o", "--output", type=click.Choice(["yaml", "json", "name"]), help="How to print the objects."
    )(with_dry_run)
    return click.option(
        "--dry-run",
        type=click.Choice(["none", "client", "server"]),
        default="none",
        help="Create nothing: print what would be sent (client), or what the server would store (server).",
    )(found)
