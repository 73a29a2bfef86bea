# SPDX-License-Identifier: Apache-2.0
"""Runs a command's requests to the chosen cluster's Kubernetes API, and reports failures."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from springtide.cli.options import Chosen
from springtide.cli.speaking import shown
from springtide.kube import config, errors
from springtide.messages import text

if TYPE_CHECKING:
    from springtide.kube.client import Client

T = TypeVar("T")


def talk(cluster: Chosen, conversation: Callable[[Client], Awaitable[T]]) -> T:
    """Runs the conversation with an administrator's client. An API error ends the command with the server's message."""
    cluster.must_run()
    # Imported here because it is the slowest import, and neither --help nor a stopped cluster needs it.
    from springtide.kube.client import Client  # noqa: PLC0415

    async def with_client() -> T:
        async with await Client.connect(str(cluster.place.kubeconfig)) as client:
            return await conversation(client)

    try:
        return asyncio.run(with_client())
    except (config.ConfigError, errors.Unreachable) as error:
        why = text("its server does not answer: {why}\nIts log is {log}", why=str(error), log=cluster.place.log)
        raise click.ClickException(shown(why)) from None
    except errors.ApiError as error:
        raise click.ClickException(error.message) from None
