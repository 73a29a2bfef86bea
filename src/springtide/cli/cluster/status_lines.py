# SPDX-License-Identifier: Apache-2.0
"""The lines of `tide status` about a cluster that is up."""

from __future__ import annotations

import os
from collections.abc import Iterator

from springtide.cli.cluster.probe import Found
from springtide.local.datadir import DataDir
from springtide.local.environments.shelf import Environments, default_root
from springtide.local.network.messages import Conversation, Refused
from springtide.messages import Text, text

_PATIENCE = 2.0


def lines(place: DataDir, found: Found) -> Iterator[tuple[str, Text]]:
    """Each with its heading, which is English in every language, as those of tables are."""
    yield "process", text("{process}", process=place.process())
    yield "files", text("{path} ({size})", path=place.path, size=f"{_size(str(place.path)) / 1024 / 1024:.1f} MiB")
    yield "kubeconfig", text("{path}", path=place.kubeconfig)
    yield "objects", _objects(found)
    if found.counts["nodes"]:
        yield "nodes", text("{ready} of {total} ready", ready=found.ready, total=found.counts["nodes"])
        yield "pods", text("{running} of {total} running", running=found.running, total=found.counts["pods"])
        yield "network", _network(place)
        yield "operator", _operator(place)
        made = len(Environments(default_root()).all())
        yield "environments", text("{made} and the one that runs tide" if made else "the one that runs tide", made=made)


def _objects(found: Found) -> Text:
    nodes, namespaces, pods = (found.counts[plural] for plural in ("nodes", "namespaces", "pods"))
    return text(
        "{nodes}, {namespaces}, {pods}",
        nodes=text("1 node" if nodes == 1 else "{count} nodes", count=nodes),
        namespaces=text("1 namespace" if namespaces == 1 else "{count} namespaces", count=namespaces),
        pods=text("1 pod" if pods == 1 else "{count} pods", count=pods),
    )


def _operator(place: DataDir) -> Text:
    """The cluster's own operator process; operators elsewhere are not shown."""
    process = place.operator_process()
    if process is not None:
        return text("runs as process {process}", process=process)
    return text(
        "does not run; its log is {log}" if place.operator_log.exists() else "does not run", log=place.operator_log
    )


def _network(place: DataDir) -> Text:
    """The pod network, as netd reports it, if netd runs."""
    try:
        conversation = Conversation(str(place.network / "holder.sock"), _PATIENCE)
    except OSError:
        return text("pods share this machine's")
    try:
        info, _ = conversation.ask({"do": "info"})
    except (OSError, ValueError, Refused) as error:
        return text("netd does not answer: {why}", why=str(error))
    finally:
        conversation.close()
    uplink, why = info.get("uplink", "none"), info.get("why", "")
    if uplink == "none":
        return text(
            "pods have their own; they cannot reach the outside: {why}"
            if why
            else "pods have their own; they cannot reach the outside",
            why=why,
        )
    return text("pods have their own; they reach the outside by {uplink}", uplink=uplink)


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
