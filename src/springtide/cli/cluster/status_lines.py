# SPDX-License-Identifier: Apache-2.0
"""The lines of `tide status` about a cluster that is up."""

from __future__ import annotations

import os
from collections.abc import Iterator

from springtide.cli.cluster.probe import Found
from springtide.local.datadir import DataDir
from springtide.local.environments.shelf import Environments, default_root
from springtide.local.network.messages import Conversation, Refused

_PATIENCE = 2.0


def lines(place: DataDir, found: Found) -> Iterator[tuple[str, str]]:
    yield "process", str(place.process())
    yield "files", f"{place.path} ({_size(str(place.path)) / 1024 / 1024:.1f} MiB)"
    yield "kubeconfig", str(place.kubeconfig)
    yield "objects", ", ".join(f"{count} {what if count != 1 else what[:-1]}" for what, count in found.counts.items())
    if found.counts["nodes"]:
        yield "nodes", f"{found.ready} of {found.counts['nodes']} ready"
        yield "pods", f"{found.running} of {found.counts['pods']} running"
        yield "network", _network(place)
        yield "operator", _operator(place)
        made = len(Environments(default_root()).all())
        yield "environments", f"{made} and the one that runs tide" if made else "the one that runs tide"


def _operator(place: DataDir) -> str:
    """The cluster's own operator process; operators elsewhere are not shown."""
    process = place.operator_process()
    if process is not None:
        return f"runs as process {process}"
    return f"does not run; its log is {place.operator_log}" if place.operator_log.exists() else "does not run"


def _network(place: DataDir) -> str:
    """The pod network, as netd reports it, if netd runs."""
    try:
        conversation = Conversation(str(place.network / "holder.sock"), _PATIENCE)
    except OSError:
        return "pods share this machine's"
    try:
        info, _ = conversation.ask({"do": "info"})
    except (OSError, ValueError, Refused) as error:
        return f"netd does not answer: {error}"
    finally:
        conversation.close()
    uplink, why = info.get("uplink", "none"), info.get("why", "")
    if uplink == "none":
        return f"pods have their own; they cannot reach the outside{f': {why}' if why else ''}"
    return f"pods have their own; they reach the outside by {uplink}"


def _size(folder: str) -> int:
    """The size of all files below, some of which may be created or deleted meanwhile."""
    total = 0
    for parent, _, files in os.walk(folder):
        for file in files:
            try:
                total += os.lstat(os.path.join(parent, file)).st_size
            except FileNotFoundError:
                continue
    return total
