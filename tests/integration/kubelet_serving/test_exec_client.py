# SPDX-License-Identifier: Apache-2.0
"""The operator's exec client on the whole road: API server, node, a process in a real pod."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.integration.kubelet_serving.node import eventually
from tests.integration.kubelet_serving.pair import Pair, a_pair

from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.exec import KEPT_LINES, LONGEST_LINE, Ended, TimedOut, execute
from springtide.kube.resources import NODES, PODS, Key

POD = Key("ns", "p")


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with a_pair(tmp_path) as found:
        await found.node.run("p", "sleep", "60")
        yield found


@pytest.fixture(params=["translated", "direct"])
async def client(request: pytest.FixtureRequest, pair: Pair) -> AsyncIterator[Client]:
    """A kubeconfig's connection; the node gets SPDY, or the WebSocket itself."""
    if request.param == "direct":
        declared = {"status": {"declaredFeatures": ["ExtendWebSocketsToKubelet"]}}
        await pair.cluster.client("tester").patch(NODES, Key("", "n"), declared, subresource="status")
    async with await Client.connect(str(pair.cluster.directory.kubeconfig)) as connected:
        yield connected


async def test_a_command_runs_in_the_container_without_a_shell_around_it(client: Client) -> None:
    words = ("sh", "-c", 'echo "$0 $1"; echo oops >&2; exit 5', "a b;c", "$HOME 'd'")
    ended = await execute(client, POD, "main", words, 30)
    assert ended.exit_code == 5
    assert sorted(ended.last_lines.splitlines()) == ["a b;c $HOME 'd'", "oops"]


async def test_much_output_is_cut_to_its_last_lines(client: Client) -> None:
    script = "head -c 3000000 /dev/zero | tr '\\0' x; echo; seq 200000; exit 3"
    ended = await execute(client, POD, "main", ["sh", "-c", script], 60)
    assert ended == Ended(3, "\n".join(str(200_000 - KEPT_LINES + 1 + number) for number in range(KEPT_LINES)))
    ended = await execute(client, POD, "main", ["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x"], 60)
    assert ended == Ended(0, "x" * LONGEST_LINE)


async def test_a_command_that_takes_too_long_is_timed_out(client: Client, tmp_path: Path) -> None:
    with pytest.raises(TimedOut, match=r"has not ended after 0\.5 s") as raised:
        await execute(client, POD, "main", ["sh", "-c", "echo begun; sleep 30"], 0.5)
    assert raised.value.last_lines == "begun"


async def test_a_program_that_does_not_exist_is_explained(client: Client) -> None:
    with pytest.raises(errors.ServerError, match='exec: "no-such-program": executable file not found'):
        await execute(client, POD, "main", ["no-such-program"], 30)


async def test_a_missing_pod_and_a_missing_container_are_explained(client: Client) -> None:
    with pytest.raises(errors.NotFound, match='pods "other" not found'):
        await execute(client, Key("ns", "other"), "main", ["true"], 30)
    with pytest.raises(errors.BadRequest, match="container other is not valid for pod p"):
        await execute(client, POD, "other", ["true"], 30)


async def test_a_pod_without_a_node_and_a_node_that_does_not_answer_are_explained(client: Client, pair: Pair) -> None:
    containers = [{"name": "main", "image": "none"}]
    await client.create(PODS, PODS.describe(Key("ns", "q")) | {"spec": {"containers": containers}})
    with pytest.raises(errors.BadRequest, match="does not have a host assigned"):
        await execute(client, Key("ns", "q"), "main", ["true"], 30)
    nowhere = {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}}
    await client.patch(NODES, Key("", "n"), nowhere, subresource="status")
    with pytest.raises(errors.ServerError, match=r"error dialing backend|connection refused"):
        await execute(client, POD, "main", ["true"], 30)


async def test_a_container_that_has_ended_is_explained(client: Client, pair: Pair) -> None:
    pod = pair.node.pods.find("ns", "p")
    assert pod is not None
    assert pod.shim is not None
    pod.states = {name: replace(state, status="exited") for name, state in pod.states.items()}
    with pytest.raises(errors.ServerError, match='container not found \\("main"\\)'):
        await execute(client, POD, "main", ["true"], 30)


async def test_a_server_that_ends_meanwhile_is_unreachable(client: Client, pair: Pair, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    words = ["sh", "-c", f"touch {begun}; sleep 30"]
    running = asyncio.create_task(execute(client, POD, "main", words, 30))
    await eventually(begun.exists)
    await pair.server.aclose()
    with pytest.raises(errors.Unreachable):
        await running


async def test_many_commands_run_at_once(client: Client) -> None:
    commands = (execute(client, POD, "main", ["sh", "-c", f"echo {n}; exit {n}"], 60) for n in range(10))
    assert await asyncio.gather(*commands) == [Ended(n, str(n)) for n in range(10)]
