# SPDX-License-Identifier: Apache-2.0
"""One round: a cluster, three jobs, a schedule of blows; then everything is left alone, and everything is judged."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from tests.crash_jobs import history, jobs, mix, named_verdict, scaler_verdict, schedule, training_jobs, verdict
from tests.crash_jobs.history import History
from tests.crash_jobs.jobs import NAMESPACE, Wanted
from tests.crash_jobs.schedule import Act
from tests.crash_jobs.verdict import Blows
from tests.crash_pods import cluster as clusters
from tests.crash_pods import looking
from tests.crash_pods.cluster import Cluster
from tests.crash_pods.verdict import judge_traces

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import Scope
from springtide.kube.resources import (
    CONFIGMAPS,
    JOBS,
    NAMESPACES,
    PODS,
    ROLEBINDINGS,
    ROLES,
    SECRETS,
    SERVICEACCOUNTS,
    SERVICES,
    Key,
    Obj,
    Resource,
)

_Answer = TypeVar("_Answer")
PATIENCE = 120.0
AMID = 1.5
"""Seconds for an operator to come to the write after which it is killed."""
CALM = 8.0
MADE = (PODS, JOBS, CONFIGMAPS, SECRETS, SERVICES, SERVICEACCOUNTS, ROLES, ROLEBINDINGS)
"""Kinds of what is made for jobs."""
LABEL = "springtide.dev/job"


@dataclass
class Result:
    seed: int
    user: str
    acts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*schedule.KILLS, *schedule.CHANGES), 0))
    outcomes: dict[str, int] = field(default_factory=lambda: {"Succeeded": 0, "Failed": 0})
    lists: int = 0
    """Host lists that were judged."""
    states: int = 0
    """States of objects that were judged."""
    launchers: int = 0
    answers: int = 0
    """Of hosts to launchers that came to their end."""
    met: int = 0
    """Replicas that reached the first one of their job by its name."""
    late: int = 0
    """Hosts over SSH whose names came later than they were listed."""
    settling: float = 0.0
    """Seconds after the last blow until all jobs were as they are wanted."""
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)


async def play(seed: int, as_user: bool) -> Result:
    result, started = Result(seed, "user" if as_user else "root"), time.monotonic()
    async with clusters.running(as_user, schedule.NODES) as cluster:
        game = Round(cluster, seed, result)
        await game.prepare()
        watching = asyncio.create_task(history.follow(cluster, game.history))
        try:
            await game.play()
            await game.finish()
            game.judge()
            await game.clear()
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
        result.violations += await cluster.down()
        result.violations += [f"left after tide down: {what}" for what in cluster.remains()]
        result.violations += [f"in the logs: {line}" for line in cluster.complaints()[:5]]
    result.seconds = round(time.monotonic() - started, 1)
    return result


class Round:
    def __init__(self, cluster: Cluster, seed: int, result: Result) -> None:
        self.cluster, self.result = cluster, result
        self.history = History()
        self._chance = random.Random(seed)
        self._shared = cluster.home / "shared"
        self._jobs = {each.name: each for each in mix.drawn(self._chance, self._shared)}
        self._acts = schedule.drawn(
            self._chance, list(self._jobs), [name for name, each in self._jobs.items() if each.scaled]
        )
        self._scalers = 0
        self._blows = Blows()
        self._killed: dict[str, int] = {}
        """How often programs of a job whose replicas keep their names were killed."""
        self._last_blow = 0.0

    async def prepare(self) -> None:
        jobs.prepare(self._shared)
        namespace = NAMESPACES.describe(Key("", NAMESPACE))
        await self.cluster.insist(lambda client: client.create(NAMESPACES, namespace))
        account = Key(NAMESPACE, "default")
        await until(lambda: self.cluster.insist(lambda client: client.find(SERVICEACCOUNTS, account)), bool)
        await until(self._are_served, bool)

    async def _are_served(self) -> bool:
        """All kinds: their definitions are written one after the other."""

        async def listed(client: Client) -> None:
            for kind in (*mix.KINDS, *training_jobs.SCALERS):
                await client.list(kind, Scope(NAMESPACE))

        try:
            await self.cluster.insist(listed)
        except errors.NotFound:
            return False
        return True

    # Blows

    async def play(self) -> None:
        for each in self._jobs.values():
            await self._create(each)
        if self._chance.random() < 0.8:
            await until(lambda: self._lacks(only_running=True), lambda lacks: not lacks, 20.0)
        for act in self._acts:
            if act.calm:
                await until(self._lacks, lambda lacks: not lacks, CALM)
            await asyncio.sleep(act.after)
            if await self._do(act):
                self.result.acts[act.what] += 1
        self._last_blow = time.monotonic()
        await self._heal()

    async def _do(self, act: Act) -> bool:
        """Whether it could be done."""
        if act.what in schedule.KILLS:
            return await self._kill(act)
        doing: dict[str, Callable[[Act], Awaitable[bool]]] = {
            "resize": self._resize,
            "scale": self._scale,
            "scale out": self._scale_by_object,
            "scale in": self._scale_by_object,
            "cancel a scaler": self._cancel,
            "point at a victim": self._point,
            "finish a worker": self._end_early,
            "suspend": self._suspend,
            "tide down": self._stop,
            "recreate": self._recreate,
            "cordon": self._node,
            "uncordon": self._node,
            "drain": self._node,
            "reclaim": self._node,
        }
        return await doing.get(act.what, self._take)(act)

    async def _kill(self, act: Act) -> bool:
        cluster, node = self.cluster, sorted(schedule.NODES)[act.number % len(schedule.NODES)]
        finders = {
            "operator": cluster.operator,
            "server": cluster.server,
            "agent": lambda: cluster.agent(node),
            "supervisor": cluster.supervisor,
        }
        if act.what == "operator":
            seen = len(self.history.seen)
            await clusters.until_true(lambda: len(self.history.seen) >= seen + act.number % 10, AMID)
        found = await cluster.kill(finders[act.what])
        if act.what == "supervisor":
            await asyncio.to_thread(cluster.bury)
            cluster.start()
        return found is not None

    async def _resize(self, act: Act) -> bool:
        return await self._ask(act.job, self._size(act.job, act.number % 7))

    async def _scale(self, act: Act) -> bool:
        size, resource = self._size(act.job, act.number % 6), self._jobs[act.job].resource
        body = {"spec": {"replicas": size}}
        try:
            await self.cluster.insist(
                lambda client: client.patch(resource, Key(NAMESPACE, act.job), body, subresource="scale")
            )
        except errors.Invalid:
            return False
        return True

    async def _scale_by_object(self, act: Act) -> bool:
        if not self._jobs[act.job].scaled:
            return False
        worker, self._scalers = await self._one(act, "Worker"), self._scalers + 1
        number = self._scalers * 6 + act.number % 6
        name = worker["metadata"]["name"] if worker is not None else None
        outward = act.what == "scale out"
        resource, scaler = (
            training_jobs.scale_out(act.job, number) if outward else training_jobs.scale_in(act.job, number, name)
        )
        await self.cluster.insist(lambda client: client.create(resource, scaler))
        return True

    async def _cancel(self, act: Act) -> bool:
        found = [
            each for each in await self._scalers_of(act.job) if scaler_verdict.phase(each) not in scaler_verdict.ENDED
        ]
        if not found:
            return False
        scaler = found[act.number % len(found)]
        resource = next(each for each in training_jobs.SCALERS if each.kind == scaler["kind"])
        await self._delete(resource, Key.of(scaler))
        return True

    async def _scalers_of(self, job: str) -> list[Obj]:
        if not self._jobs[job].scaled:
            return []
        found = []
        for resource in training_jobs.SCALERS:
            found += [{**each, "kind": resource.kind} for each in await self._made(resource, "")]
        return [each for each in found if each["spec"]["selector"]["name"] == job]

    async def _point(self, act: Act) -> bool:
        """And give the operator reason to look for one."""
        pod = await self._one(act, "Worker")
        if pod is None:
            return False
        body = {"metadata": {"annotations": {"springtide.dev/victim": "true"}}}
        with suppress(errors.NotFound):
            await self.cluster.insist(lambda client: client.patch(PODS, Key.of(pod), body))
        wanted = self._jobs[act.job]
        return await self._ask(act.job, max(wanted.run(wanted.size_of(await self._job(act.job))) - 1, 1))

    def _size(self, job: str, size: int) -> int:
        """Worker 0 of a kind without a launcher is one that the others need."""
        return max(size, 1) if self._jobs[job].named else size

    async def _ask(self, job: str, size: int) -> bool:
        """None at all is refused, and where a webhook looks also too many, another size of a job that keeps its own,
        and one beside a scaler."""
        try:
            await self._patch(job, self._jobs[job].resized(size))
        except errors.Invalid:
            return False
        return True

    async def _end_early(self, act: Act) -> bool:
        """One whose success is not the job's."""
        wanted, pod = self._jobs[act.job], await self._one(act, "Worker")
        first = pod is not None and pod["metadata"]["name"].endswith("-0")
        if pod is None or not wanted.named or wanted.leader == "Worker" or (wanted.decides == "Worker" and first):
            return False
        (self._shared / f"{pod['metadata']['name']}.done").touch()
        if act.number % 2:
            await asyncio.sleep(AMID)
            await self._delete(PODS, Key.of(pod))
        return True

    async def _suspend(self, act: Act) -> bool:
        self._blows.suspended.add((await self._job(act.job))["metadata"]["uid"])
        await self._patch(act.job, self._jobs[act.job].suspended(True))
        return True

    async def _stop(self, act: Act) -> bool:
        """Jobs do not fail for it. What belongs to the cluster has ended, but for pods that are kept."""
        options = schedule.ENDINGS[act.number % len(schedule.ENDINGS)]
        before = set(self.cluster.pods_on_disk())
        self.result.violations += await self.cluster.down(*options)
        if "--keep-pods" not in options:
            self._blows.stopped |= before | set(self.cluster.pods_on_disk())
            self.result.violations += [f"left after tide down: {what}" for what in self.cluster.remains()]
        self.cluster.start()
        return True

    async def _recreate(self, act: Act) -> bool:
        old = (await self._job(act.job))["metadata"]["uid"]
        self._blows.deleted[old] = time.time()
        wanted = self._jobs[act.job]
        await self._delete(wanted.resource, Key(NAMESPACE, act.job))
        await self._create(wanted)
        return True

    async def _node(self, act: Act) -> bool:
        name = schedule.SPOT if act.what == "reclaim" else schedule.SHAKY
        more = {"drain": ["--timeout", "5s", "--force"], "reclaim": ["--notice", "3s", "--no-wait"]}.get(act.what, [])
        if act.what in ("drain", "reclaim"):
            self._blows.nodes.add(name)
        return await self.cluster.tide("node", act.what, name, *more) == 0

    async def _take(self, act: Act) -> bool:
        wanted = self._jobs[act.job]
        pod = await self._one(act, wanted.leader if "launcher" in act.what else "Worker")
        if pod is None or (wanted.named and not self._may_kill(act, wanted)):
            return False
        self._blows.pods.add(pod["metadata"]["uid"])
        if act.what.startswith("delete"):
            await self._delete(PODS, Key.of(pod))
            return True
        uid = pod["metadata"]["uid"]
        lives = looking.lives(self.cluster, pod)
        found = self.cluster.shim(uid) if "shim" in act.what else next((life.process for life in lives), None)
        if found is None:
            return False
        with suppress(ProcessLookupError):
            os.kill(found.pid, signal.SIGKILL)
        return True

    def _may_kill(self, act: Act, wanted: Wanted) -> bool:
        """Each failure of a replica that keeps its name costs a longer back-off. How a shim's pod has failed is not
        for a job to say that gives it no other try."""
        if act.what.startswith("delete"):
            return True
        self._killed[act.job] = self._killed.get(act.job, 0) + 1
        return self._killed[act.job] <= 1 and not ("shim" in act.what and wanted.retries == 0)

    async def _heal(self) -> None:
        """From here on nobody does anything to anybody."""
        if self.cluster.supervisor() is None:
            self.cluster.start()
        for name, wanted in self._jobs.items():
            await self._patch(name, wanted.suspended(False))
        await until(lambda: self.cluster.tide("node", "uncordon", schedule.SHAKY), lambda code: code == 0)

    # Waiting

    async def finish(self) -> None:
        self.result.violations += await until(self._lacks, lambda lacks: not lacks)
        self.result.settling = round(time.monotonic() - self._last_blow, 1)
        self.result.violations += await self._strangers()
        (self._shared / "finish").touch()
        self.result.violations += await until(self._unfinished, lambda lacks: not lacks)

    async def _lacks(self, only_running: bool = False) -> list[str]:
        """What jobs still lack to be what they are to be."""
        found = []
        for wanted in self._jobs.values():
            job, pods = await self._job(wanted.name), await self._pods(wanted.name)
            if verdict.may_have_failed(wanted, job):
                continue
            config, scalers = await self._config(wanted), await self._scalers_of(wanted.name)
            if waits := [] if only_running else scaler_verdict.unended(scalers):
                found += [f"{wanted.name}: {lack}" for lack in waits]
                continue
            found += [f"{wanted.name}: {lack}" for lack in scaler_verdict.left_of(scalers, pods)]
            size = None if only_running else wanted.run(wanted.size_of(job))
            lacks = (
                await self._lacks_replicas(wanted, job, pods, config, size)
                if wanted.named
                else verdict.lacking(job, pods, config, size)
            )
            found += [f"{wanted.name}: {lack}" for lack in lacks]
        return found

    async def _lacks_replicas(
        self, wanted: Wanted, job: Obj, pods: list[Obj], config: Obj | None, size: int | None
    ) -> Iterable[str]:
        services = await self._made(SERVICES, f"{LABEL}={wanted.name}")
        own = [line for line in history.accounts(self._shared) if line.job == wanted.name]
        unmet = named_verdict.unmet(wanted, pods, own) if size is not None else ()
        return [*named_verdict.lacking(wanted, job, pods, services, config, size), *unmet]

    async def _unfinished(self) -> list[str]:
        found = []
        for wanted in self._jobs.values():
            job, pods = await self._job(wanted.name), await self._pods(wanted.name)
            found += [f"{wanted.name}: {lack}" for lack in verdict.unfinished(wanted, job, pods)]
        return found

    async def _strangers(self) -> list[str]:
        """Objects of jobs that are no more."""
        owners = {(await self._job(name))["metadata"]["uid"] for name in self._jobs}
        found = {resource: await self._made(resource) for resource in MADE}
        owners |= {batch["metadata"]["uid"] for batch in found[JOBS]}
        return [
            f"{resource.kind} {obj['metadata']['name']} belongs to a job that is gone"
            for resource, objects in found.items()
            for obj in objects
            if not owners & {owner["uid"] for owner in obj["metadata"].get("ownerReferences", ())}
        ]

    # Judging

    def judge(self) -> None:
        result, lines = self.result, history.accounts(self._shared)
        for name, wanted in self._jobs.items():
            seen = list(self.history.of(name))
            own = [line for line in lines if line.job == name]
            judge = named_verdict.judge if wanted.named else verdict.judge
            faults = [*judge(wanted, seen, own, self._blows), *scaler_verdict.judge(wanted, seen)]
            result.violations += [f"{name}: {fault}" for fault in faults]
            result.states += len(seen)
            result.lists += sum("hosts" in line.what for line in own)
            result.late += sum("late" in line.what for line in own)
            result.launchers += len({line.launcher for line in own})
            result.met += len({line.launcher for line in own if line.what.get("meets")})
            result.answers += sum(line.what.get("end", 0) for line in own)

    async def clear(self) -> None:
        for name in self._jobs:
            word = str((await self._job(name)).get("status", {}).get("state"))
            self.result.outcomes[word] = self.result.outcomes.get(word, 0) + 1
            await self._delete(self._jobs[name].resource, Key(NAMESPACE, name))

        async def left() -> list[str]:
            return [
                f"{resource.kind} {obj['metadata']['name']} is left of a job that was deleted"
                for resource in (*MADE, *training_jobs.SCALERS)
                for obj in await self._made(resource, "" if resource in training_jobs.SCALERS else LABEL)
            ]

        self.result.violations += await until(left, lambda found: not found)
        self.result.violations += await until(self._traces, lambda found: not found)

    async def _traces(self) -> list[str]:
        """Directories, sockets, shims and cables of pods that are gone."""
        pods = (await self.cluster.insist(lambda client: client.list(PODS, Scope()))).items
        return judge_traces(pods, looking.traces(self.cluster))

    # The API

    async def _one(self, act: Act, role: str) -> Obj | None:
        pods = [pod for pod in await self._pods(act.job) if verdict.is_alive(pod) and verdict.role(pod) == role]
        return pods[act.number % len(pods)] if pods else None

    async def _job(self, name: str) -> Obj:
        resource = self._jobs[name].resource
        found: Obj = await self.cluster.insist(lambda client: client.get(resource, Key(NAMESPACE, name)))
        return found

    async def _config(self, wanted: Wanted) -> Obj | None:
        key = Key(NAMESPACE, wanted.config)
        found: Obj | None = await self.cluster.insist(lambda client: client.find(CONFIGMAPS, key))
        return found

    async def _pods(self, job: str) -> list[Obj]:
        return await self._made(PODS, f"{LABEL}={job}")

    async def _made(self, resource: Resource, label: str = LABEL) -> list[Obj]:
        found = await self.cluster.insist(lambda client: client.list(resource, Scope(NAMESPACE, labels=label)))
        return list(found.items)

    async def _patch(self, job: str, body: Obj) -> None:
        resource = self._jobs[job].resource
        await self.cluster.insist(lambda client: client.patch(resource, Key(NAMESPACE, job), body))

    async def _create(self, wanted: Wanted) -> None:
        resource = jobs.submitted_as(wanted)
        await self.cluster.insist(lambda client: client.create(resource, wanted.manifest))

    async def _delete(self, resource: Resource, key: Key) -> None:
        async def act(client: Client) -> None:
            with suppress(errors.NotFound):
                await client.delete(resource, key)

        await self.cluster.insist(act)


async def until(
    ask: Callable[[], Awaitable[_Answer]], accept: Callable[[_Answer], object], patience: float = PATIENCE
) -> _Answer:
    """The first answer that will do, or the last one after all patience."""
    deadline = time.monotonic() + patience
    while True:
        answer = await ask()
        if accept(answer) or time.monotonic() > deadline:
            return answer
        await asyncio.sleep(0.2)
