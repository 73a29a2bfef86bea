# SPDX-License-Identifier: Apache-2.0
"""Pods bound to a node, with a real API server, a real agent and real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from tests.integration.kubelet.core_world import NODE, World, a_program, a_world
from tests.integration.patience import until

from springtide.kube.request import DeleteOptions
from springtide.kube.resources import CONFIGMAPS, LEASES, NODES, PODS, Key, Obj
from springtide.local.runtime import isolation, remains, shim_client


@pytest.fixture(scope="module")
def refusal() -> str:
    """Why this machine has no namespaces for us, if it has none."""
    findings = isolation.probe()
    if findings.isolation != "none":
        return ""
    return "; ".join(f"{finding.title}: {finding.why}" for finding in findings.missing)


@pytest.fixture(params=["namespaces", "none"])
async def world(request: pytest.FixtureRequest, refusal: str) -> AsyncIterator[World]:
    if refusal and request.param == "namespaces":
        pytest.skip(refusal)
    # Outside the tree that pytest keeps, because overlay's work directories stop its clean-up.
    data = Path(tempfile.mkdtemp(prefix="tide-"))
    try:
        async with a_world(data, request.param) as made:
            yield made
    finally:
        remains.discard(data)


async def test_a_pod_that_prints_and_ends_has_succeeded(world: World) -> None:
    await world.bind("hello", a_program("echo hello"), restartPolicy="Never")
    pod = await world.until_phase("hello", "Succeeded")
    assert world.log(pod) == "hello"
    state = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"]) == (0, "Completed")


@pytest.mark.any_user
async def test_a_pod_that_fails_tells_how(world: World) -> None:
    program = a_program("echo bad luck > /dev/stderr; exit 3", terminationMessagePolicy="FallbackToLogsOnError")
    await world.bind("fails", program, restartPolicy="Never")
    pod = await world.until_phase("fails", "Failed")
    state = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"], state["message"]) == (3, "Error", "bad luck\n")


@pytest.mark.any_user
async def test_a_pod_that_crashes_again_and_again_is_held_back(world: World) -> None:
    await world.bind("crashes", a_program("exit 1"))
    pod = await world.until_pod("crashes", lambda pod: _waiting(pod) == "CrashLoopBackOff")
    status = pod["status"]["containerStatuses"][0]
    uid = pod["metadata"]["uid"]
    message = f"back-off 10s restarting failed container=main pod=crashes_default({uid})"
    assert status["state"]["waiting"]["message"] == message
    assert (status["restartCount"], status["lastState"]["terminated"]["exitCode"]) == (1, 1)
    assert pod["status"]["phase"] == "Running"
    assert "Back-off restarting failed container main" in await world.until_event("crashes", "BackOff")


def _waiting(pod: Obj) -> str:
    statuses = pod["status"].get("containerStatuses") or [{"state": {}}]
    return str((statuses[0]["state"].get("waiting") or {}).get("reason"))


async def test_a_deleted_pod_ends_within_its_grace_and_leaves_nothing(world: World) -> None:
    await world.bind("ends", a_program("trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done"))
    pod = await world.until_phase("ends", "Running")
    await world.client.delete(PODS, Key.of(pod))
    await world.until_gone("ends")
    await until(_exists(world.directory(pod)), lambda there: not there, 10)
    assert await world.until_event("ends", "Killing") == "Stopping container main"


async def test_one_that_does_not_listen_is_killed(world: World) -> None:
    await world.bind("deaf", a_program("trap '' TERM; while :; do sleep 0.05; done"), terminationGracePeriodSeconds=1)
    pod = await world.until_phase("deaf", "Running")
    await world.client.delete(PODS, Key.of(pod))
    await world.until_gone("deaf")


def _exists(path: Path) -> Callable[[], Awaitable[bool]]:
    async def ask() -> bool:
        return await asyncio.to_thread(path.exists)

    return ask


@pytest.mark.any_user
async def test_a_missing_command_is_a_clear_error(world: World) -> None:
    program = {"name": "main", "image": "busybox", "command": ["/no/such/program"]}
    await world.bind("missing", program, restartPolicy="Never")
    pod = await world.until_phase("missing", "Failed")
    state = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"]) == (128, "StartError")
    assert "/no/such/program" in state["message"]
    assert "/no/such/program" in await world.until_event("missing", "Failed")


@pytest.mark.any_user
async def test_what_is_missing_is_waited_for(world: World) -> None:
    value = {"configMapKeyRef": {"name": "later", "key": "word"}}
    await world.bind(
        "waits", a_program("echo $WORD", env=[{"name": "WORD", "valueFrom": value}]), restartPolicy="Never"
    )
    pod = await world.until_pod("waits", lambda pod: _waiting(pod) == "CreateContainerConfigError")
    assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"] == 'configmap "later" not found'
    metadata = {"name": "later", "namespace": "default"}
    await world.client.create(CONFIGMAPS, {"metadata": metadata, "data": {"word": "at last"}})
    assert world.log(await world.until_phase("waits", "Succeeded")) == "at last"


async def test_init_containers_run_before_and_sidecars_beside(world: World) -> None:
    side = a_program("while :; do sleep 0.05; done", "side", restartPolicy="Always")
    inits = [side, a_program("echo first", "one"), a_program("echo second", "two")]
    await world.bind("inits", a_program("echo main"), initContainers=inits, restartPolicy="Never")
    pod = await world.until_phase("inits", "Succeeded")
    ends = {one["name"]: one["state"]["terminated"] for one in pod["status"]["initContainerStatuses"]}
    assert [world.log(pod, name) for name in ("one", "two", "main")] == ["first", "second", "main"]
    assert ends["one"]["finishedAt"] <= ends["two"]["startedAt"]
    assert ends["side"]["exitCode"] != 0


@pytest.mark.any_user
async def test_a_rule_makes_all_containers_begin_again(world: World) -> None:
    gate = world.shared / "gate"
    codes = {"operator": "In", "values": [42]}
    rules = [{"action": "RestartAllContainers", "exitCodes": codes}]
    watcher = a_program(
        f"test -e {gate} && exit 0; touch {gate}; exit 42", "watcher", restartPolicy="Never", restartPolicyRules=rules
    )
    worker = a_program(f"while ! test -e {gate}; do sleep 0.02; done; sleep 0.5", "worker")
    await world.bind("again", worker, watcher, initContainers=[a_program("true", "one")], restartPolicy="Never")
    pod = await world.until_phase("again", "Succeeded")
    statuses = (*pod["status"]["initContainerStatuses"], *pod["status"]["containerStatuses"])
    assert [one["restartCount"] for one in statuses] == [1, 1, 1]


async def test_hooks_run_after_the_start_and_before_the_end(world: World) -> None:
    after, before = world.shared / "after", world.shared / "before"
    hooks = {
        "postStart": {"exec": {"command": ["touch", str(after)]}},
        "preStop": {"exec": {"command": ["touch", str(before)]}},
    }
    await world.bind("hooked", a_program("while :; do sleep 0.05; done", lifecycle=hooks))
    pod = await world.until_phase("hooked", "Running")
    assert after.exists()
    await world.client.delete(PODS, Key.of(pod))
    await world.until_gone("hooked")
    assert before.exists()


@pytest.mark.any_user
async def test_a_failed_post_start_hook_kills_the_container(world: World) -> None:
    hooks = {"postStart": {"exec": {"command": ["false"]}}}
    await world.bind("unhooked", a_program("while :; do sleep 0.05; done", lifecycle=hooks), restartPolicy="Never")
    await world.until_phase("unhooked", "Failed")
    assert await world.until_event("unhooked", "FailedPostStartHook") == "PostStartHook failed"


@pytest.mark.any_user
async def test_probes_decide_about_readiness_and_restarts(world: World) -> None:
    ready, dead = world.shared / "ready", world.shared / "dead"
    probes: Obj = {
        "readinessProbe": {"exec": {"command": ["test", "-e", str(ready)]}, "periodSeconds": 1},
        "livenessProbe": {
            "exec": {"command": ["test", "!", "-e", str(dead)]},
            "periodSeconds": 1,
            "failureThreshold": 1,
        },
    }
    await world.bind("probed", a_program("while :; do sleep 0.05; done", **probes))
    pod = await world.until_phase("probed", "Running")
    assert pod["status"]["containerStatuses"][0]["ready"] is False
    ready.touch()
    await world.until_pod("probed", lambda pod: pod["status"]["containerStatuses"][0]["ready"])
    dead.touch()
    await world.until_event("probed", "Killing")
    dead.unlink()
    await world.until_pod("probed", lambda pod: pod["status"]["containerStatuses"][0]["restartCount"] > 0)
    assert (await world.until_event("probed", "Unhealthy")).startswith(
        ("Readiness probe failed", "Liveness probe failed")
    )


async def test_a_probe_that_takes_too_long_has_failed_and_is_killed(world: World) -> None:
    seconds = f"1000.{os.getpid()}"
    probe = {"exec": {"command": ["sleep", seconds]}, "timeoutSeconds": 1, "periodSeconds": 60}
    await world.bind("slow", a_program("while :; do sleep 0.05; done", readinessProbe=probe))
    message = await world.until_event("slow", "Unhealthy")
    assert message == f'Readiness probe failed: command timed out: "sleep {seconds}" timed out after 1s'
    await until(_commands, lambda commands: not any(seconds in command for command in commands), 5)


async def _commands() -> list[str]:
    """The command lines of all processes."""
    return await asyncio.to_thread(lambda: [_command(path) for path in Path("/proc").glob("[0-9]*/cmdline")])


def _command(path: Path) -> str:
    try:
        return path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""  # it ended


async def test_pods_are_asked_on_their_own_ports(world: World) -> None:
    """In a network of their own two pods may have the same port; without one each has its own address."""
    serve = "exec python3 -m http.server 8000 --bind $ADDRESS"
    probe = {"periodSeconds": 1}
    probes: Obj = {
        "startupProbe": {"tcpSocket": {"port": "http"}, "failureThreshold": 30, **probe},
        "readinessProbe": {"httpGet": {"port": "http", "path": "/"}, **probe},
        "ports": [{"name": "http", "containerPort": 8000}],
        "env": [{"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
    }
    for name in ("one", "two"):
        await world.bind(name, a_program(serve, **probes))
    for name in ("one", "two"):
        await world.until_pod(name, _is_ready)


def _is_ready(pod: Obj) -> bool:
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions") or ())


@pytest.mark.any_user
async def test_a_pod_past_its_deadline_has_failed(world: World) -> None:
    await world.bind("late", a_program("while :; do sleep 0.05; done"), activeDeadlineSeconds=1)
    pod = await world.until_phase("late", "Failed")
    assert pod["status"]["reason"] == "DeadlineExceeded"


# The agent comes and goes


async def test_a_killed_agent_disturbs_nothing(world: World) -> None:
    await world.bind("stays", a_program("while :; do sleep 0.05; done"))
    pod = await world.until_phase("stays", "Running")
    await world.stop_agent(signal.SIGKILL)
    world.start_agent()
    await world.bind("after", a_program("true"), restartPolicy="Never")
    await world.until_phase("after", "Succeeded")
    assert (await world.pod("stays"))["status"]["containerStatuses"] == pod["status"]["containerStatuses"]


@pytest.mark.any_user
async def test_what_ended_while_no_agent_ran_is_told_by_the_next(world: World) -> None:
    gate = world.shared / "gate"
    await world.bind("ends", a_program(f"while ! test -e {gate}; do sleep 0.02; done; exit 7"), restartPolicy="Never")
    pod = await world.until_phase("ends", "Running")
    await world.stop_agent()
    gate.touch()
    state = world.directory(pod) / "containers" / "main" / "0.json"
    await until(_says_exited(state), bool, 10)
    world.start_agent()
    pod = await world.until_phase("ends", "Failed")
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 7


def _says_exited(path: Path) -> Callable[[], Awaitable[bool]]:
    async def ask() -> bool:
        return b'"exited"' in await asyncio.to_thread(path.read_bytes)

    return ask


@pytest.mark.any_user
async def test_a_pod_deleted_while_no_agent_ran_is_ended_by_the_next(world: World) -> None:
    await world.bind("orphan", a_program("while :; do sleep 0.05; done"))
    pod = await world.until_phase("orphan", "Running")
    await world.stop_agent(signal.SIGKILL)
    await world.client.delete(PODS, Key.of(pod), DeleteOptions(grace=0))
    await world.until_gone("orphan")
    world.start_agent()
    await until(_exists(world.directory(pod)), lambda there: not there, 20)


async def test_a_killed_shim_takes_its_containers_with_it_and_they_start_again(world: World) -> None:
    await world.bind("hit", a_program("while :; do sleep 0.05; done"))
    pod = await world.until_phase("hit", "Running")
    shim = json.loads((world.directory(pod) / "shim.json").read_bytes())["pid"]
    os.kill(shim, signal.SIGKILL)
    pod = await world.until_pod("hit", lambda pod: pod["status"]["containerStatuses"][0]["restartCount"] == 1)
    last = pod["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (137, "Error")


@pytest.mark.any_user
async def test_an_agent_told_to_end_its_pods_leaves_their_objects_alone(world: World) -> None:
    await world.bind("sleeps", a_program("while :; do sleep 0.05; done"))
    pod = await world.until_phase("sleeps", "Running")
    assert await world.stop_agent(signal.SIGUSR1) == 0
    await until(_living(world.directory(pod)), lambda shim: shim is None, 5)
    assert (await world.pod("sleeps"))["status"] == pod["status"]
    world.start_agent()
    pod = await world.until_pod("sleeps", lambda pod: pod["status"]["containerStatuses"][0]["restartCount"] == 1)
    await world.until_phase("sleeps", "Running")


def _living(directory: Path) -> Callable[[], Awaitable[int | None]]:
    async def ask() -> int | None:
        return shim_client.living(directory)

    return ask


# The node


@pytest.mark.any_user
async def test_the_node_says_what_it_has_and_gives_signs_of_life(world: World) -> None:
    node = await until(_node(world), lambda node: node["status"].get("conditions"), 20)
    assert {one["type"]: one["status"] for one in node["status"]["conditions"]}["Ready"] == "True"
    assert node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"] > 0
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == NODE
    lease = await until(lambda: world.client.find(LEASES, Key("kube-node-lease", NODE)), bool, 20)
    assert lease is not None
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]) == (NODE, 40)


def _node(world: World) -> Callable[[], Awaitable[Obj]]:
    async def ask() -> Obj:
        return await world.client.get(NODES, Key("", NODE))

    return ask
