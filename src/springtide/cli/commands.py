# SPDX-License-Identifier: Apache-2.0
"""Command classes with helpful errors: for a cluster name without its option, and for names of other programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from springtide.cli.speaking import shown
from springtide.messages import text


class ClusterCommand(click.Command):
    """A command without arguments on one cluster. A bare argument is taken for the cluster's name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True
        left = super().parse_args(ctx, args)
        if left and not ctx.resilient_parsing:
            named = f"{ctx.command_path} --name {left[0]}"
            ctx.fail(
                shown(text("unexpected: {words}\nTo name the cluster: {command}", words=" ".join(left), command=named))
            )
        return left


class CommandGroup(click.Group):
    """A group that suggests its commands for the names that other programs use."""

    def __init__(self, *args: Any, other_words: Mapping[str, str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._other_words = other_words

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if (meant := self._other_words.get(args[0])) is not None and not ctx.resilient_parsing:
            message = text("No such command {name!r}. Did you mean {meant!r}?", name=args[0], meant=meant)
            raise click.NoSuchCommand(args[0], shown(message), ctx=ctx)
        return super().resolve_command(ctx, args)
