# SPDX-License-Identifier: Apache-2.0
"""Whatever process is killed, another takes its place, and pods do not notice."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.integration.cli.conftest import Tide
from tests.integration.supervisor.conftest import (
    a_pod,
    agents,
    create,
    holder,
    kill,
    phase,
    processes,
    shims,
    until,
)

from springtide.kube.client import Client
from springtide.kube.resources import PODS, Key
from springtide.local.datadir import DataDir

pytestmark = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")

FOR_EVER = "trap 'exit 0' TERM; echo begun; while true; do sleep 0.1; done"


def run_pod(place: DataDir, name: str = "p") -> int:
    """A pod that runs until it is ended; its shim."""
    asyncio.run(create(place, a_pod(name, FOR_EVER)))
    until(lambda: asyncio.run(phase(place, name)) == "Running")
    (shim,) = shims(place)
    return shim


def test_whatever_is_killed_comes_back_and_the_pod_runs_on(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0", "--node", "a=cpu:2", "--node", "b=cpu:2,spot")
    place = tide.place()
    shim = run_pod(place)
    before_server, before_agents, before_holder = place.server_process(), agents(place), holder(place)
    assert set(before_agents) == {"a", "b"}

    kill(before_server)
    until(lambda: place.server_process() not in (None, before_server))
    assert asyncio.run(phase(place, "p")) == "Running"

    kill(before_agents["a"])
    until(lambda: agents(place).get("a") not in (None, before_agents["a"]))
    assert agents(place)["b"] == before_agents["b"]

    if before_holder is not None:
        kill(before_holder)
        until(lambda: holder(place) not in (None, before_holder))

    assert shims(place) == [shim]
    assert "2 of 2 ready" in tide.ok("status")


ASK = """
import ssl, time, urllib.request
while True:
    try:
        context = ssl.create_default_context(cafile="/var/run/secrets/kubernetes.io/serviceaccount/ca.crt")
        urllib.request.urlopen("https://kubernetes.default.svc/readyz", context=context, timeout=2).read()
        print("answered", time.time(), flush=True)
    except OSError as error:
        print("trying again:", error, flush=True)
    time.sleep(0.1)
"""


def is_another(find: Callable[[], int | None], before: int | None) -> bool:
    return find() not in (None, before)


def grows_beyond(count: Callable[[], int], number: int) -> bool:
    return count() > number


def test_pods_reach_the_server_again_whoever_was_killed(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    place = tide.place()
    if holder(place) is None:
        pytest.skip("pods have no network of their own here")
    pod = a_pod("p", "")
    pod["spec"]["containers"][0]["command"] = ["python3", "-c", ASK]
    asyncio.run(create(place, pod))

    def answers() -> int:
        logs = (place.path / "logs").glob("default_p_*/main/*.log")
        return sum(path.read_text().count(" answered ") for path in logs)

    until(answers)
    finders: list[Callable[[], int | None]] = [partial(holder, place), place.server_process]
    for find in finders:
        victim = find()
        kill(victim)
        until(partial(is_another, find, victim))
        until(partial(grows_beyond, answers, answers() + 2))


def test_server_and_agents_go_with_a_killed_supervisor_and_pods_do_not(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    place = tide.place()
    shim = run_pod(place)
    tide.kill(place)
    until(lambda: place.server_process() is None and not agents(place))
    assert shims(place) == [shim]
    tide.ok("up", "-d")
    assert shims(place) == [shim]
    assert asyncio.run(phase(place, "p")) == "Running"


def test_pods_can_be_left_running(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    place = tide.place()
    shim, network = run_pod(place), holder(place)
    assert "Its pods run on." in tide.ok("down", "--keep-pods")
    assert shims(place) == [shim]
    assert holder(place) == network
    assert place.server_process() is None
    assert not agents(place)
    tide.ok("up", "-d")
    assert shims(place) == [shim]
    assert "pods         1 of 1 running" in tide.ok("status")


def test_pods_begin_again_with_the_cluster_at_whatever_address_and_can_be_deleted(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    place = tide.place()
    pods = [a_pod(name, FOR_EVER) for name in ("p", "q", "r")]
    asyncio.run(create(place, *pods))
    until(lambda: all(asyncio.run(phase(place, name)) == "Running" for name in "pqr"))
    tide.ok("down")
    tide.ok("up", "-d", "--isolation", "none")  # other addresses
    until(lambda: all(asyncio.run(restarts(place, name)) == 1 for name in "pqr"))
    asyncio.run(delete(place, "p", "q", "r"))
    until(lambda: all(asyncio.run(phase(place, name)) == "gone" for name in "pqr"))


async def restarts(place: DataDir, name: str) -> int:
    async with await Client.connect(str(place.kubeconfig)) as client:
        pod = await client.get(PODS, Key("default", name))
        return int(pod["status"]["containerStatuses"][0]["restartCount"])


async def delete(place: DataDir, *names: str) -> None:
    async with await Client.connect(str(place.kubeconfig)) as client:
        for name in names:
            await client.delete(PODS, Key("default", name))


def test_nothing_is_left_when_the_cluster_is_down(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    run_pod(tide.place())
    tide.ok("down")
    assert processes(tide.place()) == {}


@pytest.mark.timeout(120)
def test_a_pod_that_does_not_want_to_end_can_be_made_to(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    place = tide.place()
    stubborn = a_pod("p", "trap '' TERM; while true; do sleep 0.1; done", terminationGracePeriodSeconds=3600)
    asyncio.run(create(place, stubborn))
    until(lambda: asyncio.run(phase(place, "p")) == "Running")
    with tide.start("down") as patient:
        assert patient.stdout
        assert patient.stdout.readline().startswith("Waiting for 1 pod to end. At once, from another terminal:")
        tide.ok("down", "--grace", "0")
        assert patient.wait(60) == 0
        patient.communicate()
    assert processes(place) == {}


def test_a_node_that_is_deleted_goes_with_its_pods_and_files(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0", "--node", "a=cpu:2")
    place = tide.place()
    run_pod(place)
    tide.ok("node", "remove", "a", "--force")
    until(lambda: not agents(place) and not shims(place))
    until(lambda: not (place.nodes / "a").exists())


def test_a_reclaimed_node_is_gone_at_once(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0", "--node", "a=cpu:2,spot", "--node", "b=cpu:2,label:keep=yes")
    place = tide.place()
    asyncio.run(create(place, a_pod("p", "trap '' TERM; while true; do sleep 0.1; done", nodeName="a")))
    until(lambda: asyncio.run(phase(place, "p")) == "Running")
    tide.ok("node", "reclaim", "a", "--notice", "0s")
    until(lambda: set(agents(place)) == {"b"} and not shims(place))
    until(lambda: asyncio.run(phase(place, "p")) == "gone")


def test_credentials_are_for_their_owner_alone(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0", "--node", "a=cpu:2")
    folder = tide.place().nodes / "a"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in ("kubeconfig", "serving.pem", "ca.pem"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600


def test_a_directory_that_is_removed_takes_everything_with_it(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    place = tide.place()
    run_pod(place)
    place.path.rename(place.path.with_name("gone"))
    until(lambda: processes(place) == {})
