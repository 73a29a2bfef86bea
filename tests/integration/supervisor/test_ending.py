# SPDX-License-Identifier: Apache-2.0
"""How a cluster in the foreground ends, and how one ends that cannot be kept up."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.integration.cli.conftest import Tide
from tests.integration.supervisor.conftest import a_pod, agents, create, kill, own_user, phase, processes, shims, until

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import Key, Resource
from springtide.local.datadir import DataDir

VALIDATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)

pytestmark = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")

STUBBORN = a_pod("p", "trap '' TERM; while true; do sleep 0.1; done", terminationGracePeriodSeconds=3600)


def started(tide: Tide, *args: str) -> subprocess.Popen[str]:
    process = tide.start("up", "--port", "0", *args)
    assert process.stdout
    announced = any("Ctrl-C stops the cluster" in line for line in iter(process.stdout.readline, ""))
    assert announced, process.communicate()[1]
    return process


def test_a_second_ctrl_c_waits_for_no_pod(tide: Tide) -> None:
    with started(tide) as process:
        asyncio.run(create(tide.place(), STUBBORN))
        until(lambda: asyncio.run(phase(tide.place(), "p")) == "Running")
        process.send_signal(signal.SIGINT)
        assert process.stdout
        said = [process.stdout.readline() for _ in range(2)]
        assert said == ["\n", "Waiting for 1 pod to end. Ctrl-C again ends them at once.\n"]
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.endswith("is down.\n")
    assert processes(tide.place()) == {}


def test_ctrl_c_while_it_starts_ends_it(tide: Tide) -> None:
    with tide.start("up", "--port", "0") as process:
        until(lambda: tide.place().is_running())
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGINT, 130), err  # the latter two before it has said what to do with it
    until(lambda: processes(tide.place()) == {})


@pytest.mark.parametrize("moment", [0.0, 0.1, 0.3])
def test_ctrl_c_while_it_starts_ends_pods_of_before(tide: Tide, moment: float) -> None:
    with started(tide) as process:
        asyncio.run(create(tide.place(), STUBBORN))
        until(lambda: asyncio.run(phase(tide.place(), "p")) == "Running")
        process.kill()
    with tide.start("up") as process:
        until(lambda: _hears_ctrl_c(process.pid))
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)  # a stubborn pod's grace is long
        process.communicate(timeout=60)
    until(lambda: processes(tide.place()) == {})


def _hears_ctrl_c(pid: int) -> bool:
    """Whether SIGTERM is caught: Python catches SIGINT from the beginning."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    caught = next(int(line.split()[1], 16) for line in lines if line.startswith("SigCgt:"))
    return bool(caught >> (signal.SIGTERM - 1) & 1)


@own_user
@pytest.mark.timeout(120)
def test_a_server_that_cannot_start_is_tried_until_it_can_and_pods_run_on(tide: Tide) -> None:
    """More often than the tries that a first start has."""
    place = tide.place()
    with started(tide) as process:
        asyncio.run(create(place, STUBBORN))
        until(lambda: asyncio.run(phase(place, "p")) == "Running")
        (shim,) = shims(place)
        server = place.server_process()
        assert server is not None
        os.kill(server, signal.SIGSTOP)
        parts = [place.database, place.database.with_name("state.db-wal")]
        whole = [part.read_bytes() for part in parts]
        place.database.write_bytes(b"this is no database")
        parts[1].unlink()
        kill(server)
        assert process.stderr
        said = (line for line in iter(process.stderr.readline, "") if "the server cannot start" in line)
        for line in itertools.islice(said, 5):
            assert "is damaged or not a database" in line
            assert "The server is tried again until it starts; `tide down --keep-pods` ends the tries" in line
        for part, content in zip(reversed(parts), reversed(whole), strict=True):
            part.write_bytes(content)
        until(lambda: _phase(place) == "Running")
        assert shims(place) == [shim]
        assert len(agents(place)) == 1
        tide.ok("down", "--grace", "0")
        process.communicate(timeout=60)
    assert process.returncode == 0


def _phase(place: DataDir) -> str:
    try:
        return asyncio.run(phase(place, "p"))
    except errors.ApiError:
        return "unknown"


REFUSES_ROLES = {
    "name": "roles.example.org",
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "failurePolicy": "Fail",
    "timeoutSeconds": 1,
    "clientConfig": {"url": "https://127.0.0.1:1/"},
    "rules": [
        {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["clusterroles"], "scope": "*"}
    ],
}


@own_user
def test_a_cluster_that_does_not_come_up_leaves_nothing_behind(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    tide.ok("down")
    place = tide.place()
    with place.database.open("r+b") as database:
        database.write(b"this is no database")
    assert "is damaged or not a database" in tide.error("up", "-d", "--port", "0")
    until(lambda: processes(place) == {})


@own_user
def test_a_webhook_in_the_way_of_what_jobs_need_is_noted_and_can_be_mended(tide: Tide) -> None:
    tide.ok("up", "-d", "--port", "0")
    place = tide.place()

    async def refuse_roles() -> None:
        async with await Client.connect(str(place.kubeconfig)) as client:
            webhook = VALIDATING_WEBHOOKS.describe(Key("", "broken")) | {"webhooks": [REFUSES_ROLES]}
            await client.create(VALIDATING_WEBHOOKS, webhook)

    async def mend() -> None:
        async with await Client.connect(str(place.kubeconfig)) as client:
            await client.delete(VALIDATING_WEBHOOKS, Key("", "broken"))

    asyncio.run(refuse_roles())
    tide.ok("down")
    said = tide.ok("up", "-d", "--port", "0")
    assert "! the operator's rights could not be brought up to date" in said
    assert 'failed calling webhook "roles.example.org"' in said
    asyncio.run(mend())
    tide.ok("down")
    assert "brought up to date" not in tide.ok("up", "-d", "--port", "0")
    tide.ok("down")


def test_a_server_that_is_stopped_with_the_terminal_s_group_lives_on(tide: Tide) -> None:
    """Ctrl-C goes to all processes of the terminal's foreground group; ours are not in it."""
    with started(tide) as process:
        groups = {os.getpgid(pid) for pid in processes(tide.place()) if pid != process.pid}
        assert os.getpgid(process.pid) not in groups
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_pods_run_without_namespaces_too(tide: Tide) -> None:
    said = tide.ok("up", "-d", "--port", "0", "--isolation", "none")
    assert "! pods share this machine's network and files" in said
    asyncio.run(create(tide.place(), a_pod("p", "echo done", restartPolicy="Never")))
    until(lambda: asyncio.run(phase(tide.place(), "p")) == "Succeeded")
    assert "pods share this machine's" in tide.ok("status")
    tide.ok("down")
    assert processes(tide.place()) == {}
