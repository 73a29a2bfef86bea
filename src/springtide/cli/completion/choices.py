# SPDX-License-Identifier: Apache-2.0
"""The values offered by TAB: names of clusters, nodes, environments and presets.

Called by click during completion. A cluster that does not run or answer in time offers no nodes; these functions must
not fail or print. Slow modules are imported only where needed.
"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from springtide.cli import options, places
from springtide.cli.completion.words import is_plain

_PATIENCE = 5.0
"""Seconds for each answer of a hanging server; Ctrl-C interrupts it."""


def clusters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _offered(places.cluster_names(), incomplete)


def directories(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completed by the shell itself."""
    return [CompletionItem(incomplete, type="dir")]


def environments(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from springtide.local.environments.shelf import Environments, default_root  # noqa: PLC0415

    return _offered([each.name for each in Environments(default_root()).all()], incomplete)


def presets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the last of several names separated by commas."""
    from springtide.local.environments.presets import table  # noqa: PLC0415

    before, comma, last = incomplete.rpartition(",")
    return _offered([f"{before}{comma}{name}" for name in table()], f"{before}{comma}{last}")


def nodes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The nodes of the cluster named by the preceding options."""
    from springtide.cli.cluster import probe  # noqa: PLC0415

    cluster = options.chosen(ctx.params.get("name"), ctx.params.get("data_dir"))
    try:
        if not cluster.is_running():
            return []
        with probe.connected(cluster.place.kubeconfig, _PATIENCE) as server:
            found = [node["metadata"]["name"] for node in probe.answer(server, "/api/v1/nodes")["items"]]
    except (probe.SilentError, OSError):
        return []
    given = ctx.params.get(param.name or "") or ()
    return _offered([name for name in found if name not in given], incomplete)


def _offered(names: list[str], incomplete: str) -> list[CompletionItem]:
    """A shell puts them into the command line as they are: only what is one plain word there is offered."""
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete) and is_plain(name)]
