# SPDX-License-Identifier: Apache-2.0
"""`tide example`: manifests that run unchanged on a fresh cluster. They are in the package's examples/."""

from __future__ import annotations

from importlib import resources

import click

from springtide.cli import speaking
from springtide.messages import text

EXAMPLES = {"mpijob": text("a training job of two workers that can be resized while it trains; about a minute")}
"""The available examples; the manifest of each is `examples/NAME.yaml`."""


@click.command(epilog="Start one: tide example mpijob | kubectl apply -f -")
@click.argument(
    "name", required=False, type=click.Choice(list(EXAMPLES)), help="Which one; without it they are listed."
)
def example(name: str | None) -> None:
    """Print the manifest of a job to try out, or list the jobs there are.

    It needs nothing but the embedded cluster: no image, no package, no file of a checkout.
    """
    if name is None:
        for each, description in EXAMPLES.items():
            click.echo(f"{each}  {speaking.shown(description)}")
        return
    click.echo(manifest(name), nl=False)


def manifest(name: str) -> str:
    return (resources.files("springtide.cli") / "examples" / f"{name}.yaml").read_text(encoding="utf-8")
