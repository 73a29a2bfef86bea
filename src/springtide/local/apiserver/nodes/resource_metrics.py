# SPDX-License-Identifier: Apache-2.0
"""metrics.k8s.io for `kubectl top` and the autoscaler, scraped from the nodes' `/metrics/resource`.

Counters become rates. A rate needs two points: two scrapes or, for a container younger than the first scrape, its
start, with zero usage. Nodes are scraped regularly, and before a response if the last scrape is not recent: `kubectl
top` shows a pod seconds after its start, and metrics without readers cost little. Nothing is stored; a node that stops
answering loses its metrics after a minute, as with the metrics server.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from springtide.local import status
from springtide.local.apiserver.context import Call, Context, StoreReader
from springtide.local.apiserver.encoding.objects import decode
from springtide.local.apiserver.replies import Answer, reply
from springtide.local.apiserver.verbs.options import list_options
from springtide.local.apiserver.verbs.selecting import predicate
from springtide.local.kinds.strategy import Obj

log = logging.getLogger(__name__)

EVERY = 15.0
FORGET_AFTER = 60.0
PATIENCE = 10.0  # per node; nodes that answer must not wait for one that does not
RECENT = 2.0  # maximum age of a scrape used for a response
ANSWER_WITHIN = 3.0  # nodes not scraped by then are missing in the response or have older numbers
WINDOW = 10.0  # shortest interval of a rate once readings are that far apart: rates over shorter ones fluctuate
SINCE_START = (0.5, 60.0)  # shorter intervals are noise, longer ones do not show the current usage
SPACING = 1.1  # between a node's first two scrapes; a kubelet repeats its answer for a second
_SAMPLE = re.compile(r"^(\w+)(?:\{([^}]*)\})? ([0-9.eE+-]+)(?: (\d+))?$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_NODE = ("", "", "")

Fetch = Callable[[Obj], Awaitable[str]]
"""Fetches the text of a node's `/metrics/resource`."""


@dataclass(slots=True)
class Usage:
    """Usage of a node (empty key) or a container at one moment."""

    cpu_seconds: float = 0.0
    memory_bytes: float = 0.0
    at: float = 0.0  # seconds since the epoch
    started: float = 0.0  # of a container; 0 if it is not known


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
        elif name == "container_start_time_seconds":
            found[key].started = float(value)
    return dict(found)


@dataclass(slots=True)
class _NodeReadings:
    """Oldest first. The first is the newest reading at least a window older than the last, or the oldest available."""

    history: list[Readings]
    scraped: float = 0.0

    def add(self, readings: Readings, now: float) -> None:
        self.scraped = now
        if _at(readings) <= _at(self.history[-1]):
            return  # the kubelet repeated its last answer
        self.history.append(readings)
        while len(self.history) > 2 and _at(readings) - _at(self.history[1]) >= WINDOW:
            del self.history[0]


def _at(readings: Readings) -> float:
    return readings[_NODE].at if _NODE in readings else max((usage.at for usage in readings.values()), default=0.0)


class ResourceMetrics:
    def __init__(self, reader: StoreReader, fetch: Fetch, clock: Callable[[], float] = time.time) -> None:
        self._reader, self._fetch, self._clock = reader, fetch, clock
        self._nodes: dict[str, _NodeReadings] = {}
        self._tried: set[str] = set()
        """Nodes asked by the last scrape, whether they answered or not."""
        self._begun = float("-inf")
        """Start of the last scrape."""
        self._asked, self._done = asyncio.Event(), asyncio.Event()
        self._runs = False

    async def run(self) -> None:
        self._runs = True
        try:
            while True:
                self._asked.clear()
                self._done.clear()
                await self.scrape()
                self._done.set()
                with suppress(TimeoutError):
                    async with asyncio.timeout(EVERY):
                        await self._asked.wait()
        finally:
            self._runs = False

    async def _refreshed(self, age: float) -> None:
        """Return once nodes have been scraped that recently, or when the response must be sent."""
        if not self._runs or self._clock() - self._begun < age:
            return
        self._done.clear()
        self._asked.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_WITHIN):
                await self._done.wait()

    async def scrape(self) -> None:
        nodes = self._reader.list("nodes")
        self._begun = self._clock()
        self._tried = {node["metadata"]["name"] for node in nodes}
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
            # ValueError: an invalid number or address.
            log.debug("no metrics of node %s: %s", name, error or "no answer in time")
            return
        if name in self._nodes:
            self._nodes[name].add(readings, now)
        else:
            self._nodes[name] = _NodeReadings([readings], now)

    # Responses

    async def node_metrics(self, ctx: Context, call: Call) -> Answer:
        return _answer(call, "NodeMetrics", await self._figures(call, "nodes", self._of_node))

    async def pod_metrics(self, ctx: Context, call: Call) -> Answer:
        return _answer(call, "PodMetrics", await self._figures(call, "pods", self._of_pod))

    async def _figures(self, call: Call, resource: str, figures: Callable[[Obj], Obj | None]) -> list[Obj]:
        wanted = self._wanted(call, resource)
        known = all(node in self._tried for obj in wanted if (node := _node_of(obj)))
        await self._refreshed(RECENT if known else 0.0)
        if any(self._is_new(obj) and figures(obj) is None for obj in wanted):
            await asyncio.sleep(SPACING)
            await self._refreshed(SPACING / 2)
        return [found for obj in wanted if (found := figures(obj)) is not None]

    def _wanted(self, call: Call, resource: str) -> list[Obj]:
        namespace = call.target.namespace if resource == "pods" else ""
        if call.target.name:
            found = self._reader.get(resource, namespace, call.target.name)
            return [found] if found is not None else []
        options = list_options(call.request.query, watch=False)
        wanted = predicate(call.resource, options.label_selector, options.field_selector)
        records = self._reader.records(resource, namespace)
        return [decode(record.body) for record in records if wanted is None or wanted(record)]

    def _is_new(self, obj: Obj) -> bool:
        """Whether the node, or the pod's node, has been scraped only once."""
        readings = self._nodes.get(_node_of(obj))
        return self._runs and readings is not None and len(readings.history) == 1

    def _of_node(self, node: Obj) -> Obj | None:
        readings = self._nodes.get(_node_of(node))
        usage = _usage(readings, _NODE) if readings else None
        return None if usage is None else {"metadata": _identity(node["metadata"]), **usage}

    def _of_pod(self, pod: Obj) -> Obj | None:
        meta = pod["metadata"]
        readings = self._nodes.get(_node_of(pod))
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


def _node_of(obj: Obj) -> str:
    """The node of a pod; the name of a node."""
    spec = obj.get("spec") or {}
    return str(spec.get("nodeName", "") if "containers" in spec else obj["metadata"]["name"])


def _identity(meta: Obj) -> Obj:
    return {key: meta[key] for key in ("name", "namespace", "labels") if key in meta}


def _usage(readings: _NodeReadings, key: tuple[str, str, str]) -> Obj | None:
    now = readings.history[-1].get(key)
    base = _base(readings.history, key, now) if now else None
    if now is None or base is None or now.at <= base.at:
        return None
    window = now.at - base.at
    nanocores = max(0, round((now.cpu_seconds - base.cpu_seconds) / window * 1e9))
    return {
        "timestamp": datetime.fromtimestamp(now.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "window": f"{window:.3f}s",
        "usage": {"cpu": f"{nanocores}n", "memory": f"{round(now.memory_bytes / 1024)}Ki"},
    }


def _base(history: Sequence[Readings], key: tuple[str, str, str], now: Usage) -> Usage | None:
    """The earlier point with which the latest reading is compared."""
    earlier = (readings[key] for readings in history[:-1] if key in readings)
    # A reading older than the container belongs to an earlier container of that name.
    base = next((usage for usage in earlier if usage.at >= now.started), None)
    if base is None and SINCE_START[0] <= now.at - now.started <= SINCE_START[1]:
        return Usage(at=now.started)
    return base


def _answer(call: Call, kind: str, items: list[Obj]) -> Answer:
    api_version = "metrics.k8s.io/v1beta1"
    if call.target.name:
        if not items:
            raise status.not_found("metrics.k8s.io", call.resource.plural, call.target.name)
        return reply({"kind": kind, "apiVersion": api_version, **items[0]}, call.form)
    frame: dict[str, Any] = {"kind": f"{kind}List", "apiVersion": api_version, "metadata": {}}
    return reply(frame | {"items": items}, call.form)
