# SPDX-License-Identifier: Apache-2.0
"""Exec and attach, from the node's paths to processes that belong to a shim."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from tests.integration.kubelet_serving.node import ALL, OUTPUT, Node, Refusal, eventually, status_of

from springtide.local.streams.channels import Wanted, exited

TERMINAL = Wanted(stdin=True, stdout=True, tty=True)


async def test_a_command_runs_and_its_exit_code_is_told(node: Node) -> None:
    await node.run("p", "sleep", "60")
    said = await node.execute("p", "sh", "-c", "cat; echo oops >&2; exit 5", stdin=b"hello")
    assert (said["stdout"], said["stderr"], status_of(said)) == (b"hello", b"oops\n", exited(5))


async def test_much_output_is_whole(node: Node) -> None:
    await node.run("p", "sleep", "60")
    said = await node.execute("p", "head", "-c", "5000000", "/dev/zero", wanted=OUTPUT)
    assert len(said["stdout"]) == 5_000_000


async def test_a_command_ends_while_its_input_is_open(node: Node) -> None:
    await node.run("p", "sleep", "60")
    async with node.streams("exec", "p", ALL, "head", "-c", "2") as streams:
        await streams["stdin"].write(b"hello")
        assert await streams["stdout"].read_all(100) == b"he"
        assert (await streams["error"].read_all(1000)) == b'{"metadata":{},"status":"Success"}'


async def test_a_daemon_that_keeps_the_output_open_does_not_keep_the_client(node: Node) -> None:
    await node.run("p", "sleep", "60")
    said = await node.execute("p", "sh", "-c", "sleep 60 & echo left", wanted=OUTPUT)
    assert (said["stdout"], status_of(said)) == (b"left\n", exited(0))


async def test_a_program_that_does_not_exist_is_explained_as_containerd_does(node: Node) -> None:
    await node.run("p", "sleep", "60")
    status = status_of(await node.execute("p", "no-such-program", wanted=OUTPUT))
    assert status["reason"] == "InternalError"
    assert status["message"].startswith(
        "Internal error occurred: error executing command in container: failed to exec in container: failed to start"
    )
    assert 'exec: "no-such-program": executable file not found in $PATH' in status["message"]


async def test_a_terminal_has_a_size_and_one_output(node: Node) -> None:
    await node.run("p", "sleep", "60")
    # Size and text come by two streams, which nothing orders.
    script = 'read line; until [ "$(stty size)" = "17 91" ]; do sleep 0.02; done; stty size; echo $line >&2'
    async with node.streams("exec", "p", TERMINAL, "sh", "-c", script) as streams:
        await streams["resize"].write(b'{"Width":91,"Height":17}\n')
        await streams["stdin"].write(b"typed\n")
        assert await streams["stdout"].read_all(100) == b"typed\r\n17 91\r\ntyped\r\n"
        assert (await streams["error"].read_all(1000)) == b'{"metadata":{},"status":"Success"}'


@pytest.mark.parametrize("wanted", [OUTPUT, TERMINAL], ids=["pipes", "terminal"])
async def test_a_broken_stream_does_not_end_the_process(node: Node, tmp_path: Path, wanted: Wanted) -> None:
    await node.run("p", "sleep", "60")
    waiting = f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done"
    script = f"echo begun; {waiting}; head -c 200000 /dev/zero; echo x > {tmp_path}/end"
    async with node.streams("exec", "p", wanted, "sh", "-c", script) as streams:
        assert (await streams["stdout"].read()).startswith(b"begun")
    (tmp_path / "go").touch()
    await eventually(lambda: (tmp_path / "end").exists())


@pytest.mark.parametrize(
    ("verb", "words"),
    [("exec", 'container not found ("main")'), ("attach", "container main not found in pod p_ns")],
)
async def test_a_container_that_does_not_run_is_not_found(node: Node, verb: str, words: str) -> None:
    pod = await node.run("p", "true")
    while not any(state.status == "exited" for state in pod.states.values()):
        await node.look(pod)
        await asyncio.sleep(0.01)
    with pytest.raises(Refusal) as refused:
        async with node.streams(verb, "p", OUTPUT, "true"):
            pass
    assert (refused.value.code, refused.value.text) == (500, words)
    with pytest.raises(Refusal) as refused:
        async with node.streams(verb, "other", OUTPUT, "true"):
            pass
    assert (refused.value.code, refused.value.text) == (404, "pod does not exist")


async def test_attaching_joins_the_containers_own_streams(node: Node) -> None:
    await node.run("p", "sh", "-c", "while read line; do echo got $line; echo err $line >&2; done", stdin=True)
    async with node.streams("attach", "p", ALL) as streams:
        await streams["stdin"].write(b"one\n")
        assert await streams["stdout"].read() == b"got one\n"
        assert await streams["stderr"].read() == b"err one\n"
    async with node.streams("attach", "p", ALL) as streams:  # a second time: leaving ended nothing
        await streams["stdin"].write(b"two\n")
        assert await streams["stdout"].read() == b"got two\n"


async def test_attaching_ends_with_the_container(node: Node) -> None:
    await node.run("p", "sh", "-c", "read line; echo bye", stdin=True)
    async with node.streams("attach", "p", ALL) as streams:
        await streams["stdin"].write(b"\n")
        assert await streams["stdout"].read_all(100) == b"bye\n"
        assert (await streams["error"].read_all(1000)) == b'{"metadata":{},"status":"Success"}'


async def test_attaching_to_a_terminal_resizes_it(node: Node) -> None:
    script = "stty -echo; echo ready; read line; while stty size; do sleep 0.1; done"
    await node.run("p", "sh", "-c", script, stdin=True, tty=True)
    async with node.streams("attach", "p", TERMINAL) as streams:
        await streams["resize"].write(b'{"Width":91,"Height":17}\n')
        await streams["stdin"].write(b"\n")
        seen = b""
        while b"17 91\r\n" not in seen:
            seen += await streams["stdout"].read()


async def test_many_commands_leave_no_descriptor_open(node: Node) -> None:
    await node.run("p", "sleep", "60")
    await node.execute("p", "true")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await node.execute("p", "true")
        await node.execute("p", "no-such-program", wanted=OUTPUT)
    await eventually(lambda: len(os.listdir("/proc/self/fd")) <= before)
