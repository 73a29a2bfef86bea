# SPDX-License-Identifier: Apache-2.0
"""One round on a cluster that is full of pods: some kills, patience, a verdict, and the pods made whole again.

A seed decides who is killed, when, and whose pods are deleted meanwhile; what a loaded machine does in between is its
own affair.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.crash_pods import logs, looking, machine, programs, verdict
from tests.crash_pods.cluster import NODES, PATIENCE, Cluster
from tests.crash_pods.logs import Account
from tests.crash_pods.looking import Life
from tests.crash_pods.machine import Process
from tests.crash_pods.programs import NAMESPACE, Population, Wanted

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import DeleteOptions, Request, Scope, path_of
from springtide.kube.resources import DEPLOYMENTS, NAMESPACES, PODS, SERVICEACCOUNTS, SERVICES, Key, Obj, Resource

_Answer = TypeVar("_Answer")
TARGETS = {"server": 3, "agent": 3, "fork_server": 1, "netd": 2, "supervisor": 2, "shims": 5}
"""Who is killed, and how often in relation to the others."""
LOG_SAMPLE = 6
"""Pods whose whole logs are read through the API in each round; of the others it is the last line."""
_AT_ONCE = 5.0
"""Seconds that the processes of a killed shim get to be gone; the kernel needs milliseconds."""


@dataclass
class Result:
    seed: int
    user: str
    kills: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TARGETS, 0))
    adopted: int = 0
    """Containers that were the same processes after the kills."""
    ended: int = 0
    """Pods that ended by themselves and were judged."""
    restarted: int = 0
    lines: int = 0
    violations: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Victim:
    """A pod whose shim was killed."""

    wanted: Wanted
    restarts: int
    written: dict[str, Account]
    """What each container's log had when the shim was dead."""


class Session:
    """A cluster and its pods, over several rounds."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._population: Population = programs.standing()
        self._spent: set[str] = set()
        """Uids of pods whose shim was killed: they would come back only after a back-off the next time."""

    # Preparing

    async def prepare(self) -> None:
        namespace = NAMESPACES.describe(Key("", NAMESPACE))
        await self.cluster.insist(lambda client: client.create(NAMESPACES, namespace))
        await _until(lambda: self._find(SERVICEACCOUNTS, "default"), bool)
        for service in self._population.services:
            await self._create(SERVICES, service)
        for deployment in self._population.deployments:
            await self._create(DEPLOYMENTS, deployment)
        await self._fill()

    async def _fill(self) -> list[Wanted]:
        """All pods there and running; those of Deployments as they were named."""
        for wanted in self._population.pods:
            await self._create(PODS, wanted.obj)
        faults = await self._settle(await self._standing(), {})
        assert not faults, "the pods do not come up:\n" + "\n".join(faults[:10])
        return await self._standing()

    async def _standing(self) -> list[Wanted]:
        """The pods there are to be. A Deployment that has not made its pods yet counts as one that is missing."""
        pods = await self._pods()
        found = list(self._population.pods)
        for deployment in self._population.deployments:
            name = deployment["metadata"]["name"]
            own = [pod for pod in pods.values() if pod["metadata"]["labels"].get("app") == name]
            found += [Wanted(pod) for pod in own]
            missing = deployment["spec"]["replicas"] - len(own)
            found += [Wanted(programs.pod(f"{name}-missing-{n}")) for n in range(missing)]
        return found

    # Playing

    async def play(self, seed: int) -> Result:
        chance = random.Random(seed)
        result = Result(seed, "user" if self.cluster.as_user else "root")
        standing = await self._fill()
        before = await self._lives()
        passing = programs.passing(f"r{seed}")
        for wanted in passing:
            await self._create(PODS, wanted.obj)
        gone = await self._delete_some(chance, standing)
        victims = await self._kill_some(chance, result, [*standing, *passing], gone)
        visitor = programs.visitor(f"r{seed}")
        await self._create(PODS, visitor.obj)
        everybody = [wanted for wanted in (*standing, *passing, visitor) if wanted.name not in gone]
        result.violations += await self._settle(everybody, victims)
        result.violations += await self._outlived(gone)
        after = await self._lives()
        self._judge(result, [wanted for wanted in standing if wanted.name not in gone], before, after, victims)
        self._judge_passing(result, [*passing, visitor], after, victims)
        result.violations += await self._judge_api_logs(chance)
        await self._clear([*passing, visitor], victims)
        result.violations += await self._judge_machine()
        self._spent |= {life.uid for life in before.values() if life.pod in victims}
        return result

    async def play_to_the_end(self, seed: int) -> Result:
        """The last round: the cluster is to end while everything is in motion."""
        chance = random.Random(-seed - 1)
        result = Result(seed, "user" if self.cluster.as_user else "root")
        passing = programs.passing("last")
        for wanted in passing:
            await self._create(PODS, wanted.obj)
        await self._kill_some(chance, result, [*(await self._standing()), *passing], ())
        await asyncio.sleep(chance.choice((0.0, chance.uniform(0, 1.0))))
        result.violations += await self.cluster.down()
        result.violations += [f"left after tide down: {what}" for what in self.cluster.remains()]
        result.violations += [f"in the logs: {line}" for line in self.cluster.complaints()[:5]]
        return result

    async def _delete_some(self, chance: random.Random, standing: list[Wanted]) -> dict[str, str]:
        """Name and uid of pods whose deletion was acknowledged; they are made again in the next round."""
        pods = await self._pods()
        names = [wanted.name for wanted in standing if wanted.may_lose_shim and wanted in self._population.pods]
        gone = {name: pods[name]["metadata"]["uid"] for name in chance.sample(sorted(names), chance.randrange(3))}
        for name in gone:
            await self._delete(name)
        return gone

    async def _kill_some(
        self, chance: random.Random, result: Result, pods: list[Wanted], gone: Iterable[str]
    ) -> dict[str, Victim]:
        victims: dict[str, Victim] = {}
        allowed = {wanted.name: wanted for wanted in pods if wanted.may_lose_shim and wanted.name not in gone}
        targets = chance.choices(list(TARGETS), weights=list(TARGETS.values()), k=chance.randint(2, 6))
        for target in targets:
            await asyncio.sleep(chance.choice((0.0, chance.uniform(0, 0.1), chance.uniform(0, 1.5))))
            if target == "shims":
                left = {name: wanted for name, wanted in allowed.items() if name not in victims}
                victims |= await self._kill_shims(chance, result, left)
            elif await self._kill(chance, target):
                result.kills[target] += 1
        if self.cluster.supervisor() is None:
            self.cluster.start()
        return victims

    async def _kill(self, chance: random.Random, target: str) -> bool:
        """Whether there was anybody to be killed."""
        cluster = self.cluster
        node = chance.choice(sorted(NODES))
        finders: dict[str, Callable[[], Process | None]] = {
            "server": cluster.server,
            "agent": lambda: cluster.agent(node),
            "fork_server": lambda: cluster.fork_server(node),
            "netd": cluster.netd,
            "supervisor": cluster.supervisor,
        }
        found = await cluster.kill(finders[target])
        if target == "supervisor":
            await asyncio.to_thread(cluster.bury)
            await asyncio.sleep(chance.choice((0.0, chance.uniform(0, 1.0))))
            cluster.start()
        return found is not None

    async def _kill_shims(self, chance: random.Random, result: Result, allowed: dict[str, Wanted]) -> dict[str, Victim]:
        found = []
        for uid, name in sorted(self.cluster.pods_on_disk().items()):
            shim = self.cluster.shim(uid) or self.cluster.unborn_shim(uid)
            if name in allowed and shim is not None and uid not in self._spent:
                found.append((allowed[name], uid, shim))
        young = [one for one in found if one[0].exit_code is not None]
        found = young if young and chance.random() < 0.4 else found
        victims = {}
        for wanted, uid, shim in chance.sample(found, min(len(found), chance.randint(1, 3))):
            tree = machine.descendants([shim.pid])
            newest = self._newest(wanted.name, uid)
            await self.cluster.kill(lambda shim=shim: shim)  # type: ignore[misc]
            result.kills["shims"] += 1
            left = await _gone(tree)
            result.violations += [f"{wanted.name}: {machine.describe(one.pid)} outlives its shim" for one in left]
            written = {path.parent.name: logs.read(path) for path in newest}
            victims[wanted.name] = Victim(wanted, max((int(path.stem) for path in newest), default=0), written)
        return victims

    def _newest(self, name: str, uid: str) -> list[Path]:
        """The log of each container's newest attempt."""
        folder = self.cluster.place.path / "logs" / f"{NAMESPACE}_{name}_{uid}"
        found = [list(container.glob("*.log")) for container in folder.glob("*")]
        return [max(attempts, key=lambda path: int(path.stem)) for attempts in found if attempts]

    # Waiting

    async def _settle(self, everybody: list[Wanted], victims: dict[str, Victim]) -> list[str]:
        """What is still not as it must be after all patience."""
        deadline = time.monotonic() + PATIENCE
        while True:
            pods = await self._pods()
            lacks = [
                verdict.lacking(wanted, pods.get(wanted.name), victims[wanted.name].restarts if killed else None)
                for wanted in everybody
                for killed in [wanted.name in victims]
            ]
            found = [lack for lack in lacks if lack]
            if not found or time.monotonic() > deadline:
                return found
            if self.cluster.supervisor() is None:
                return [*found, "tide up has ended by itself"]
            if any("-missing-" in wanted.name for wanted in everybody):
                everybody = await self._standing()
            await asyncio.sleep(0.2)

    async def _outlived(self, gone: dict[str, str]) -> list[str]:
        """Pods that are still there although their deletion was acknowledged."""

        async def left() -> list[str]:
            pods = await self._pods()
            return [name for name, uid in gone.items() if name in pods and pods[name]["metadata"]["uid"] == uid]

        return [
            f"{name} is still there although it was deleted" for name in await _until(left, lambda names: not names)
        ]

    # Judging

    def _judge(
        self,
        result: Result,
        standing: list[Wanted],
        before: dict[str, Life],
        after: dict[str, Life],
        victims: dict[str, Victim],
    ) -> None:
        known = {wanted.name: wanted for wanted in standing}
        for name, life in before.items():
            wanted, now = known.get(life.pod), after.get(name)
            if wanted is None:
                continue
            if life.pod in victims:
                written = victims[life.pod].written.get(life.container, Account())
                result.violations += verdict.judge_killed(wanted.policy, life, now, written)
                result.restarted += 1
            else:
                result.violations += verdict.judge_untouched(life, now)
                result.violations += verdict.judge_progress(life, now) if wanted.counts else []
                result.adopted += 1
            result.lines += now.log.lines if now is not None else 0

    def _judge_passing(
        self, result: Result, passing: list[Wanted], after: dict[str, Life], victims: dict[str, Victim]
    ) -> None:
        for wanted in passing:
            for life in after.values():
                if life.pod == wanted.name:
                    result.violations += verdict.judge_ended(wanted, life, wanted.name in victims)
                    result.ended += 1
                    result.lines += sum(log.lines for log in life.logs)

    async def _judge_api_logs(self, chance: random.Random) -> list[str]:
        """The agents know all pods, and what the API gives for a log is what is in its file."""
        pods = await self._pods()
        whole = set(chance.sample(sorted(pods), LOG_SAMPLE))
        faults = []
        for name, pod in pods.items():
            for status in pod["status"]["containerStatuses"]:
                newest = status["restartCount"]
                files = looking.log_files(self.cluster, pod, status["name"], newest)
                for attempt in range(max(newest - 1, 0), newest + 1):
                    query = {"container": status["name"], "timestamps": "true"}
                    query |= {} if name in whole else {"tailLines": "1"}
                    query |= {"previous": "true"} if attempt < newest else {}
                    if not verdict.is_part(await self._log(name, query), files[attempt].read_text(), name in whole):
                        faults.append(f"the API gives another log of {name} than {files[attempt].name} has")
        return faults

    async def _judge_machine(self) -> list[str]:
        """Agents may need a moment to remove what they know to be gone."""

        async def look() -> list[str]:
            pods = (await self.cluster.insist(lambda client: client.list(PODS, Scope()))).items
            return verdict.judge_traces(pods, looking.traces(self.cluster))

        faults: list[str] = await _until(look, lambda found: not found)
        return faults

    # The API

    async def _clear(self, passing: list[Wanted], victims: dict[str, Victim]) -> None:
        ended = [victim.wanted.name for victim in victims.values() if victim.wanted.policy == "Never"]
        names = {*ended, *(wanted.name for wanted in passing)}
        for name in names:
            await self._delete(name)
        await _until(self._pods, lambda pods: not names & pods.keys())

    async def _pods(self) -> dict[str, Obj]:
        found = await self.cluster.insist(lambda client: client.list(PODS, Scope(NAMESPACE)))
        return {pod["metadata"]["name"]: pod for pod in found.items}

    async def _lives(self) -> dict[str, Life]:
        pods = await self._pods()
        return {life.name: life for pod in pods.values() for life in looking.lives(self.cluster, pod)}

    async def _log(self, name: str, query: dict[str, str]) -> str:
        asked = Request("GET", path_of(PODS, NAMESPACE, name, "log"), query)
        answer = await self.cluster.insist(lambda client: client.raw(asked))
        return str(answer.body.decode())

    async def _find(self, resource: Resource, name: str) -> Obj | None:
        found: Obj | None = await self.cluster.insist(lambda client: client.find(resource, Key(NAMESPACE, name)))
        return found

    async def _create(self, resource: Resource, obj: Obj) -> None:
        await self.cluster.insist(lambda client: client.create(resource, obj))

    async def _delete(self, name: str) -> None:
        async def act(client: Client) -> None:
            try:
                await client.delete(PODS, Key(NAMESPACE, name), DeleteOptions())
            except errors.NotFound:
                return

        await self.cluster.insist(act)


async def _until(ask: Callable[[], Awaitable[_Answer]], accept: Callable[[_Answer], object]) -> _Answer:
    """The first answer that will do, or the last one after all patience."""
    deadline = time.monotonic() + PATIENCE
    while True:
        answer = await ask()
        if accept(answer) or time.monotonic() > deadline:
            return answer
        await asyncio.sleep(0.1)


async def _gone(tree: list[Process]) -> list[Process]:
    """Those that are still there after all patience."""
    deadline = time.monotonic() + _AT_ONCE
    while True:
        left = [one for one in tree if machine.is_alive(one)]
        if not left or time.monotonic() > deadline:
            return left
        await asyncio.sleep(0.005)
