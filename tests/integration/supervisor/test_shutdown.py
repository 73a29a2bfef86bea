# SPDX-License-Identifier: Apache-2.0
"""A cluster that stops is a node that shuts down: its jobs go on when it is back, without using up their retries."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.cli.conftest import Tide
from tests.integration.supervisor.conftest import agents, kill, processes, shims, until

from springtide.kube.client import Client
from springtide.kube.resources import JOBS, PODS, Key, Obj, Resource
from springtide.local.supervisor import leftovers

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc"),
    pytest.mark.parametrize("tide", ["own user"], indirect=True),
    pytest.mark.timeout(300),
]

V1 = Resource("kubeflow.org", "v1", "mpijobs", "MPIJob")
V2 = Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob")
WAITS = "until [ -e /shared/finish ]; do sleep 0.1; done"
AGREES = f"trap 'exit 0' TERM; {WAITS}"
"""Ends with code 0 when it is told to end: a good citizen, and by no means done."""
PROGRAM = """
import os, time
from springtide import elastic
state = elastic.State(checkpoint="/shared/checkpoint", step=0)

@elastic.run
def train(state):
    if elastic.rank() == 0:
        with open("/shared/starts", "a") as starts:
            print(state.step, file=starts)
    while not os.path.exists("/shared/finish"):
        time.sleep(0.05)
        state.step += 1
        state.commit()

train(state)
"""
TIDERUN = ["tiderun", "-np", "2", "--min-np", "1", "--max-np", "2"]
ELASTIC = [*TIDERUN, "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "python", "-c", PROGRAM]
RUNNING = ("plain", "agreeing", "elastic")


def mpijob(shared: Path, name: str, resource: Resource, launcher: list[str], **run: Any) -> tuple[Resource, Obj]:
    def role(replicas: int, command: list[str]) -> Obj:
        return {"replicas": replicas, "template": {"spec": _spec(shared, command)}}

    roles = {"Launcher": role(1, launcher), "Worker": role(2, ["sleep", "365d"])}
    policy = {"backoffLimit": 0, "cleanPodPolicy": "None", **run}
    spec = {"slotsPerWorker": 1, "runPolicy": policy, "mpiReplicaSpecs": roles}
    return resource, resource.describe(Key("default", name)) | {"spec": spec}


def batch_job(shared: Path, name: str) -> tuple[Resource, Obj]:
    spec = _spec(shared, ["sh", "-c", AGREES]) | {"restartPolicy": "OnFailure"}
    return JOBS, JOBS.describe(Key("default", name)) | {"spec": {"template": {"spec": spec}, "backoffLimit": 99}}


def _spec(shared: Path, command: list[str]) -> Obj:
    mount = {"name": "shared", "mountPath": "/shared"}
    container = {"name": "main", "image": "any", "command": command, "volumeMounts": [mount]}
    return {"containers": [container], "volumes": [{"name": "shared", "hostPath": {"path": str(shared)}}]}


class World:
    """A cluster with a job of each sort."""

    def __init__(self, tide: Tide) -> None:
        self.tide, self.place, self.shared = tide, tide.place(), tide.home / "shared"
        (self.shared / "checkpoint").mkdir(parents=True)
        tide.ok("up", "-d", "--port", "0")
        self._create(
            mpijob(self.shared, "plain", V1, ["sh", "-c", WAITS]),
            mpijob(self.shared, "agreeing", V2, ["sh", "-c", AGREES]),
            mpijob(self.shared, "elastic", V1, ELASTIC),
            mpijob(self.shared, "done", V1, ["true"]),
            mpijob(self.shared, "done-too", V2, ["true"]),
            mpijob(self.shared, "suspended", V2, ["sh", "-c", WAITS], suspend=True),
            batch_job(self.shared, "batch"),
        )
        self.until_all_run()
        until(lambda: {self.state(name) for name in ("done", "done-too")} == {"Succeeded"})
        until(lambda: self.state("suspended") == "Suspended")

    def _create(self, *objects: tuple[Resource, Obj]) -> None:
        async def create(client: Client) -> None:
            for resource, obj in objects:
                await client.create(resource, obj)

        self._ask(create)

    def _ask(self, question: Callable[[Client], Any]) -> Any:
        async def asked() -> Any:
            async with await Client.connect(str(self.place.kubeconfig)) as client:
                return await question(client)

        return asyncio.run(asked())

    def job(self, name: str) -> Obj:
        found: Obj = self._ask(lambda client: client.get(V1, Key("default", name)))
        return found

    def state(self, name: str) -> str:
        found = self.job(name)
        assert (name in RUNNING) <= (found.get("status", {}).get("state") != "Failed"), found["status"]
        return str(found.get("status", {}).get("state"))

    def batch(self) -> Obj:
        found: Obj = self._ask(lambda client: client.get(JOBS, Key("default", "batch")))
        return found

    def launchers(self) -> set[str]:
        """The uids of those that run."""
        pods = self._ask(lambda client: client.list(PODS)).items
        return {
            str(pod["metadata"]["uid"])
            for pod in pods
            if pod["metadata"].get("labels", {}).get("springtide.dev/role") == "Launcher"
            and pod["status"].get("phase") == "Running"
        }

    def starts(self) -> list[int]:
        """The steps at which training began."""
        file = self.shared / "starts"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def until_all_run(self, but: frozenset[str] | set[str] = frozenset()) -> None:
        """By other launchers than those."""
        until(lambda: len(self.launchers() - but) == len(RUNNING))
        until(lambda: all(self.state(name) == "Running" for name in RUNNING))
        until(lambda: self.batch().get("status", {}).get("active") == 1)

    def until_started_again(self, times: int) -> None:
        until(lambda: len(self.starts()) > times)

    def until_trained(self) -> None:
        """A checkpoint holds more than the run began with."""
        begun = self.starts()
        until(lambda: len(self.starts()) >= max(len(begun), 1))
        files = set((self.shared / "checkpoint").iterdir())
        until(lambda: set((self.shared / "checkpoint").iterdir()) - files)

    def finish(self) -> None:
        (self.shared / "finish").touch()
        until(lambda: {self.state(name) for name in RUNNING} == {"Succeeded"})
        until(lambda: self.batch()["status"].get("succeeded") == 1)
        assert self.batch()["status"].get("failed", 0) == 0

    def bystanders(self) -> list[Obj]:
        """What became of jobs that did not run."""
        return [self.job(name)["status"]["conditions"] for name in ("done", "done-too", "suspended")]


def by_command(*options: str) -> Callable[[World], None]:
    def stop(world: World) -> None:
        said = world.tide.ok("down", *options)
        assert "4 jobs are running. With the next `tide up`:\n" in said
        assert "MPIJob default/plain starts from the beginning\n" in said
        assert "MPIJob default/elastic continues from its last checkpoint" in said
        assert "Job default/batch starts from the beginning; each pod counts towards its backoffLimit (99)\n" in said
        assert processes(world.place) == {}

    return stop


def by_signal(number: signal.Signals) -> Callable[[World], None]:
    def stop(world: World) -> None:
        process = world.place.process()
        assert process is not None
        os.kill(process, number)
        until(lambda: not world.place.is_running())
        until(lambda: processes(world.place) == {})

    return stop


def kill_everything(world: World) -> None:
    """As `docker kill` does, and a reboot. Until its agents have ended they may start other shims."""
    kill(world.place.process())

    def nothing_is_left() -> bool:
        agents_ended = not world.place.is_running() and not agents(world.place)
        leftovers.kill(world.place)
        return agents_ended and not shims(world.place)

    until(nothing_is_left)


def reboot(world: World) -> None:
    """The kernel has another name, and nothing of before runs."""
    kill_everything(world)
    for path in world.place.pods.glob("*/shim.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"boot": "the one before"}))


def test_jobs_go_on_after_every_way_to_stop_a_cluster(tide: Tide) -> None:
    world = World(tide)
    before = world.bystanders()
    ways = {
        "tide down": by_command(),
        "with a grace": by_command("--grace", "5s"),
        "without grace": by_command("--grace", "0"),
        "SIGTERM": by_signal(signal.SIGTERM),
        "Ctrl-C": by_signal(signal.SIGINT),
        "killed": kill_everything,
        "reboot": reboot,
    }
    for way, stop in ways.items():
        world.until_trained()
        launchers, starts = world.launchers(), world.starts()
        stop(world)
        tide.ok("up", "-d")
        world.until_all_run(but=launchers)
        world.until_started_again(len(starts))
        assert world.starts()[-1] > starts[-1], f"{way}: training goes on from its checkpoint"
    assert world.bystanders() == before
    assert "restarts" not in world.job("plain")["status"]
    world.finish()
    tide.ok("down")


def test_pods_that_are_kept_run_on(tide: Tide) -> None:
    world = World(tide)
    launchers, lives = world.launchers(), sorted(shims(world.place))
    said = tide.ok("down", "--keep-pods")
    assert "4 jobs are running, and so it stays" in said
    assert sorted(shims(world.place)) == lives
    tide.ok("up", "-d")
    world.until_all_run()
    assert world.launchers() == launchers
    assert sorted(shims(world.place)) == lives
    assert world.starts() == [0]
    world.finish()
    tide.ok("down")
