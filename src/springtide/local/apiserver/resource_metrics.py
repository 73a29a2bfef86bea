# SPDX-License-Identifier: Apache-2.0
"""metrics.k8s.io: what `kubectl top` and the autoscaler ask for, scraped from the nodes' `/metrics/resource`.

Counters become rates, so an answer needs two scrapes. Nothing is stored; a node that stops answering loses its
metrics after a minute, as with the metrics server.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from springtide.local import status
from springtide.local.apiserver.context import Call, Context, StoreReader
from springtide.local.apiserver.objects import decode
from springtide.local.apiserver.options import list_options
from springtide.local.apiserver.replies import Answer, reply
from springtide.local.apiserver.selecting import predicate
from springtide.local.kinds.strategy import Obj

log = logging.getLogger(__name__)

EVERY = 15.0
FORGET_AFTER = 60.0
PATIENCE = 10.0  # with one node; those that answer must not wait for one that never does
_SAMPLE = re.compile(r"^(\w+)(?:\{([^}]*)\})? ([0-9.eE+-]+)(?: (\d+))?$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_NODE = ("", "", "")

Fetch = Callable[[Obj], Awaitable[str]]
"""The text of a node's `/metrics/resource`."""


@dataclass(slots=True)
class Usage:
    """Of a node (empty key) or a container, at one moment."""

    cpu_seconds: float = 0.0
    memory_bytes: float = 0.0
    at: float = 0.0  # seconds since the epoch


Readings = dict[tuple[str, str, str], Usage]  # namespace, pod, container


def parse(text: str, now: float) -> Readings:
    """The readings of one scrape."""
    found: Readings = defaultdict(Usage)
    for name, labels, value, stamp in _SAMPLE.findall(text):
        owned = dict(_LABEL.findall(labels))
        key = (owned.get("namespace", ""), owned.get("pod", ""), owned.get("container", ""))
        if name in ("node_cpu_usage_seconds_total", "container_cpu_usage_seconds_total"):
            found[key].cpu_seconds = float(value)
            found[key].at = int(stamp) / 1000 if stamp else now
        elif name in ("node_memory_working_set_bytes", "container_memory_working_set_bytes"):
            found[key].memory_bytes = float(value)
    return dict(found)


@dataclass(slots=True)
class _NodeReadings:
    latest: Readings
    previous: Readings = field(default_factory=dict)
    scraped: float = 0.0


class ResourceMetrics:
    def __init__(self, reader: StoreReader, fetch: Fetch, clock: Callable[[], float] = time.time) -> None:
        self._reader, self._fetch, self._clock = reader, fetch, clock
        self._nodes: dict[str, _NodeReadings] = {}

    async def run(self) -> None:
        while True:
            await self.scrape()
            await asyncio.sleep(EVERY)

    async def scrape(self) -> None:
        nodes = self._reader.list("nodes")
        await asyncio.gather(*(self._scrape_node(node) for node in nodes))
        oldest = self._clock() - FORGET_AFTER
        self._nodes = {name: readings for name, readings in self._nodes.items() if readings.scraped > oldest}

    async def _scrape_node(self, node: Obj) -> None:
        name = node["metadata"]["name"]
        try:
            async with asyncio.timeout(PATIENCE):
                text = await self._fetch(node)
            now = self._clock()
            readings = parse(text, now)
        except (status.StatusError, TimeoutError, ValueError) as error:
            # ValueError: what looks like a number is none, or an address is no address.
            log.debug("no metrics of node %s: %s", name, error or "no answer in time")
            return
        before = self._nodes.get(name)
        self._nodes[name] = _NodeReadings(readings, before.latest if before else {}, now)

    # Answers

    async def node_metrics(self, ctx: Context, call: Call) -> Answer:
        items = [item for node in self._wanted(call, "nodes") if (item := self._of_node(node)) is not None]
        return _answer(call, "NodeMetrics", items)

    async def pod_metrics(self, ctx: Context, call: Call) -> Answer:
        items = [item for pod in self._wanted(call, "pods") if (item := self._of_pod(pod)) is not None]
        return _answer(call, "PodMetrics", items)

    def _wanted(self, call: Call, resource: str) -> list[Obj]:
        namespace = call.target.namespace if resource == "pods" else ""
        if call.target.name:
            found = self._reader.get(resource, namespace, call.target.name)
            return [found] if found is not None else []
        options = list_options(call.request.query, watch=False)
        wanted = predicate(call.resource, options.label_selector, options.field_selector)
        records = self._reader.records(resource, namespace)
        return [decode(record.body) for record in records if wanted is None or wanted(record)]

    def _of_node(self, node: Obj) -> Obj | None:
        readings = self._nodes.get(node["metadata"]["name"])
        usage = _usage(readings, _NODE) if readings else None
        return None if usage is None else {"metadata": _identity(node["metadata"]), **usage}

    def _of_pod(self, pod: Obj) -> Obj | None:
        meta = pod["metadata"]
        readings = self._nodes.get(pod["spec"].get("nodeName", ""))
        if readings is None:
            return None
        containers, frame = [], None
        for container in pod["spec"]["containers"]:
            usage = _usage(readings, (meta["namespace"], meta["name"], container["name"]))
            if usage is not None:
                containers.append({"name": container["name"], "usage": usage["usage"]})
                frame = {"timestamp": usage["timestamp"], "window": usage["window"]}
        if frame is None:
            return None
        return {"metadata": _identity(meta), **frame, "containers": containers}


def _identity(meta: Obj) -> Obj:
    return {key: meta[key] for key in ("name", "namespace", "labels") if key in meta}


def _usage(readings: _NodeReadings, key: tuple[str, str, str]) -> Obj | None:
    now, before = readings.latest.get(key), readings.previous.get(key)
    if now is None or before is None or now.at <= before.at:
        return None
    window = now.at - before.at
    nanocores = max(0, round((now.cpu_seconds - before.cpu_seconds) / window * 1e9))
    return {
        "timestamp": datetime.fromtimestamp(now.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "window": f"{window:.3f}s",
        "usage": {"cpu": f"{nanocores}n", "memory": f"{round(now.memory_bytes / 1024)}Ki"},
    }


def _answer(call: Call, kind: str, items: list[Obj]) -> Answer:
    api_version = "metrics.k8s.io/v1beta1"
    if call.target.name:
        if not items:
            raise status.not_found("metrics.k8s.io", call.resource.plural, call.target.name)
        return reply({"kind": kind, "apiVersion": api_version, **items[0]}, call.form)
    frame: dict[str, Any] = {"kind": f"{kind}List", "apiVersion": api_version, "metadata": {}}
    return reply(frame | {"items": items}, call.form)
