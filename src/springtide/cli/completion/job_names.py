# SPDX-License-Identifier: Apache-2.0
"""The values offered by TAB where a command is about jobs: jobs, types, namespaces, contexts, pods, nodes.

They are asked for in the cluster that the preceding options choose, with one short request each. A cluster that does
not answer in time offers nothing; these functions must not fail or print. Slow modules are imported where needed.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from springtide.cli.connecting import Target
    from springtide.kube.client import Client
    from springtide.kube.resources import Resource

PATIENCE: Final = 2.0
"""Seconds for each answer."""
Names = dict[str, str]
"""With a description each, which may be empty."""


def jobs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Of the type that is chosen, if any, without those that stand on the line."""

    async def asked(client: Client, target: Target) -> Names:
        from springtide.cli.jobs import finding  # noqa: PLC0415

        return await finding.names(client, target.namespace, ctx.params.get("type_") or "")

    given = ctx.params.get(param.name or "") or ()
    return [each for each in _offered(_asked(ctx, asked), incomplete) if each.value not in given]


def pods(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Of the job that is named before. After an option without its value, click leaves arguments where they were."""
    name = ctx.params.get("name") or next(iter(ctx.args), "")

    async def asked(client: Client, target: Target) -> Names:
        from springtide.cli.jobs import finding  # noqa: PLC0415

        job = await finding.find(client, target.namespace, name, ctx.params.get("type_") or "")
        return {pod["metadata"]["name"]: "" for pod in await finding.pods(client, job)}

    return _offered(_asked(ctx, asked) if name else {}, incomplete)


def nodes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from springtide.kube.resources import NODES  # noqa: PLC0415

    return _offered(_asked(ctx, _all_of(NODES)), incomplete)


def namespaces(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from springtide.kube.resources import NAMESPACES  # noqa: PLC0415

    return _offered(_asked(ctx, _all_of(NAMESPACES)), incomplete)


def types(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from springtide.views.trainers import TRAINERS  # noqa: PLC0415

    return _offered({each.name: each.alias for each in TRAINERS}, incomplete)


def contexts(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    import yaml  # noqa: PLC0415

    from springtide.cli import places  # noqa: PLC0415
    from springtide.kube import kubeconfig  # noqa: PLC0415

    try:
        paths = ctx.params.get("kubeconfig") or os.pathsep.join(map(str, places.user_kubeconfigs()))
        config = kubeconfig.read(paths)
    except (OSError, ValueError, yaml.YAMLError):
        return []
    return _offered(dict.fromkeys(config.contexts, ""), incomplete)


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completed by the shell itself."""
    return [CompletionItem(incomplete, type="file")]


def _asked(ctx: click.Context, ask: Callable[[Client, Target], Awaitable[Names]]) -> Names:
    """Empty where there is no cluster, no answer, no right."""
    import asyncio  # noqa: PLC0415

    from springtide.cli import connecting  # noqa: PLC0415
    from springtide.cli.errors import Failure  # noqa: PLC0415
    from springtide.kube import errors  # noqa: PLC0415
    from springtide.kube.blocking_transport import BlockingTransport  # noqa: PLC0415
    from springtide.kube.client import Client  # noqa: PLC0415
    from springtide.kube.config import ConfigError  # noqa: PLC0415

    chosen = {name: ctx.params.get(name) or "" for name in ("kubeconfig", "context", "namespace")}
    try:
        target = connecting.found(chosen["kubeconfig"], chosen["context"], chosen["namespace"])
        if ctx.params.get("everywhere"):
            target = connecting.Target(target.connection, "")
        client = Client(BlockingTransport(target.connection, PATIENCE))
        return asyncio.run(_awaited(ask(client, target)))
    except (Failure, ConfigError, errors.ApiError, OSError):
        return {}


async def _awaited(answer: Awaitable[Names]) -> Names:
    return await answer


def _all_of(resource: Resource) -> Callable[[Client, Any], Awaitable[Names]]:
    async def asked(client: Client, target: Target) -> Names:
        from springtide.kube.request import Scope  # noqa: PLC0415

        listing = await client.list(resource, Scope(metadata_only=True))
        return {each["metadata"]["name"]: "" for each in listing.items}

    return asked


def _offered(names: Names, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=names[name] or None) for name in _starting(names, incomplete)]


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
