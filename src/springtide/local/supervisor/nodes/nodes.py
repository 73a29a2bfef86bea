# SPDX-License-Identifier: Apache-2.0
"""The nodes of this machine: creates Node objects and keeps an agent for each.

`ensure_nodes` creates the Node objects requested from `tide up`; `keep_nodes` watches all Node objects labelled as
local, whatever created them, and keeps one agent for each. The caller provides the agents as three functions of a
node's name. All state is in the objects, so a restarted supervisor resumes from them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result, run
from springtide.kube.errors import AlreadyExists, NotFound
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import DeleteOptions, Scope
from springtide.kube.resources import NODES, Key, Obj
from springtide.local.supervisor.nodes import node_plans
from springtide.local.supervisor.nodes.node_plans import (
    Agent,
    Announce,
    Assign,
    Reclaim,
    ReportProblem,
    Start,
    Step,
    Stop,
)
from springtide.local.supervisor.nodes.node_specs import CAPACITY, DEFAULT, LOCAL, SPOT

COMPONENT = "springtide-supervisor"
LOCAL_NODES = Scope(labels=LOCAL)
_WORKERS = 16  # stopping a node takes as long as its pods' grace periods, and must not block the others
_LOOK_AGAIN = 30.0  # a reclaim is due by the wall clock, which advances while a suspended machine's timers do not
_MARKS = (SPOT, CAPACITY, DEFAULT)
logger = logging.getLogger(__name__)

Act = Callable[[str], Awaitable[None]]
"""Acts on the agent of the node of this name. Idempotent."""


async def ensure_nodes(client: Client, wanted: Sequence[Obj], default: Obj) -> None:
    """Creates or updates the wanted nodes. The default node is created where there are none, and removed for others."""
    existing = {node["metadata"]["name"]: node for node in (await client.list(NODES, LOCAL_NODES)).items}
    for node in wanted or ([] if existing else [default]):
        await _ensure(client, node)
    names = {node["metadata"]["name"] for node in wanted}
    for name, node in existing.items():
        if wanted and name not in names and DEFAULT in (node["metadata"].get("annotations") or {}):
            await _delete(client, node)


async def _ensure(client: Client, node: Obj) -> None:
    key = Key.of(node)
    existing = await client.find(NODES, key)
    if existing is None:
        try:
            await client.create(NODES, node)
            return
        except AlreadyExists:
            existing = await client.get(NODES, key)
    if patch := node_plans.update(existing, node, _MARKS):
        await _patch(client, existing, patch)


async def keep_nodes(client: Client, start: Act, stop: Act, kill: Act, left: Iterable[str] = ()) -> None:
    """Runs until cancelled; agents keep running then.

    `start` returns when the agent's process was created, `stop` when its pods have ended within their grace periods and
    it has exited, `kill` when agent and pods are killed. `left` names nodes with running processes or files of an
    earlier supervisor: those without a Node object are killed.
    """
    recorder = EventRecorder(client, COMPONENT)
    informers = Informers(client)
    keeper = _Keeper(informers, client, recorder, _Acts(start, stop, kill))
    keeper.look_after(left)
    async with asyncio.TaskGroup() as group:
        group.create_task(recorder.run(), name="events of nodes")
        group.create_task(run(informers, [keeper.controller]), name="nodes")


class _Acts(NamedTuple):
    start: Act
    stop: Act
    kill: Act


class _Keeper:
    def __init__(self, informers: Informers, client: Client, recorder: EventRecorder, acts: _Acts) -> None:
        self._client, self._recorder, self._acts = client, recorder, acts
        self._nodes = informers.of(NODES, LOCAL_NODES)
        self._agents: dict[str, Agent] = {}
        self._left: set[str] = set()
        """Nodes with processes or files from before this keeper."""
        self._assigned: dict[str, int] = {}
        """Indexes assigned to nodes by uid, which the cache may not show yet."""
        self.controller: Controller[Key] = Controller("nodes", self._reconcile, workers=_WORKERS)
        self.controller.watches(self._nodes)

    def look_after(self, left: Iterable[str]) -> None:
        self._left |= set(left)
        for name in self._left:
            self.controller.enqueue(Key("", name))

    async def _reconcile(self, key: Key) -> Result | None:
        node = self._nodes.get(key)
        if key.name in self._left:
            if node is None:
                logger.warning("node %s is gone; killing what is left of its pods", key)
                await self._acts.kill(key.name)
            self._left.discard(key.name)
        plan = node_plans.plan(node, self._agents.get(key.name), self._taken(key.name), datetime.now(UTC))
        for step in plan.steps:
            await self._do(step, key, node)
        return None if plan.again is None else Result(min(plan.again, _LOOK_AGAIN))

    def _taken(self, name: str) -> Collection[int]:
        """The indexes of all others. Of two nodes with one index, an original and its copy, the older keeps it."""
        nodes = self._nodes.objects()
        own = self._nodes.get(Key("", name))
        uids = {node["metadata"]["uid"] for node in nodes}
        self._assigned = {uid: index for uid, index in self._assigned.items() if uid in uids}
        others = [node for node in nodes if node["metadata"]["name"] != name]
        if own is not None and node_plans.index_of(own) is not None:
            others = [node for node in others if _age(node) < _age(own)]
        numbers = {node_plans.index_of(node) for node in others}
        numbers |= {self._assigned.get(node["metadata"]["uid"]) for node in others}
        numbers |= {agent.index for other, agent in self._agents.items() if other != name}
        return {number for number in numbers if number is not None}

    async def _do(self, step: Step, key: Key, node: Obj | None) -> None:
        if isinstance(step, Stop):
            await self._acts.stop(key.name)
            del self._agents[key.name]
        elif node is None:
            raise AssertionError(f"{step} for a node that is gone")
        elif isinstance(step, Start):
            await self._acts.start(key.name)
            self._agents[key.name] = step.agent
        elif isinstance(step, Reclaim):
            await self._reclaim(node)
        elif isinstance(step, ReportProblem):
            self._recorder.warning(node, step.reason, step.message)
        else:
            await self._write(step, node)

    async def _write(self, step: Step, node: Obj) -> None:
        name = node["metadata"]["name"]
        if isinstance(step, Assign):
            # Before any await, so that no other node gets the same index.
            self._assigned[node["metadata"]["uid"]] = step.index
            await _patch(self._client, node, node_plans.assignment(step.index))
        elif isinstance(step, Announce):
            await _patch(self._client, node, node_plans.with_reclaim_taint(node))
            message = f"Node {name} will be taken away at {step.at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
            self._recorder.warning(node, "Reclaim", message)
        else:
            await _patch(self._client, node, node_plans.without_reclaim_taint(node))
            self._recorder.normal(node, "ReclaimWithdrawn", f"Node {name} will not be taken away")

    async def _reclaim(self, node: Obj) -> None:
        """Kills agent and pods first: a repeated kill is harmless, an agent without its object is not."""
        name = node["metadata"]["name"]
        await self._acts.kill(name)
        self._agents.pop(name, None)
        await _delete(self._client, node)
        self._recorder.warning(node, "Reclaimed", f"Node {name} was taken away")


def _age(node: Obj) -> tuple[str, str]:
    return node["metadata"]["creationTimestamp"], node["metadata"]["name"]


async def _patch(client: Client, node: Obj, patch: Obj) -> None:
    """Patches the node unless it has changed since it was read."""
    metadata = node["metadata"]
    version = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    await client.patch(NODES, Key.of(node), {**patch, "metadata": {**patch.get("metadata", {}), **version}})


async def _delete(client: Client, node: Obj) -> None:
    try:
        await client.delete(NODES, Key.of(node), DeleteOptions(uid=node["metadata"]["uid"]))
    except NotFound:
        return
