# SPDX-License-Identifier: Apache-2.0
"""The built-in kubectl on the whole road: API server, node, and then past both to the pod's shim."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import socket
import termios
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
from tests.integration.kubelet_serving.pair import PATIENCE, Pair, a_pair

from springtide.kube.resources import NODES, Key
from springtide.local import control_sockets
from springtide.local.access import pki
from springtide.local.kubelet.serving.descriptors import Descriptor


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with a_pair(tmp_path) as found:
        yield found


async def test_a_command_gets_the_callers_own_streams(pair: Pair) -> None:
    await pair.node.run("p", "sleep", "60")
    script = "cat; echo oops >&2; exit 5"
    code, out, err = await pair.kubectl("exec", "-i", "-n", "ns", "p", "--", "sh", "-c", script, stdin=b"hello\n")
    assert (code, out) == (5, "hello\n")
    assert err == "oops\ncommand terminated with exit code 5\n"


async def test_without_i_there_is_no_input(pair: Pair) -> None:
    await pair.node.run("p", "sleep", "60")
    assert await pair.kubectl("exec", "-nns", "pod/p", "-c", "main", "cat", stdin=b"hello") == (0, "", "")


async def test_a_command_outlives_server_and_agent(pair: Pair, tmp_path: Path) -> None:
    await pair.node.run("p", "sleep", "60")
    script = f"echo begun; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo done; exit 3"
    process = await pair.start("exec", "-n", "ns", "p", "--", "sh", "-c", script)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"begun\n"
    await pair.server.aclose()
    pod = pair.node.pods.find("ns", "p")
    assert pod is not None
    assert pod.shim is not None
    pod.shim.close()
    (tmp_path / "go").touch()
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert (out, err, process.returncode) == (b"done\n", b"command terminated with exit code 3\n", 3)


async def test_a_ticket_is_good_once(pair: Pair) -> None:
    pod = await pair.node.run("p", "sleep", "60")
    code, text = await pair.node.text("/direct/ns/p/main?command=echo&command=hi", "POST")
    given = json.loads(text)
    assert (code, given["socket"]) == (200, f"{pod.uid}.sock")
    assert len(given["ticket"]) == 32
    said = [await asyncio.to_thread(_bring, pair.node.tickets / given["socket"], given["ticket"]) for _ in range(2)]
    assert said[0]["ok"]
    assert said[1]["reason"] == "Forbidden"


def _bring(path: Path, ticket: str) -> dict[str, object]:
    """Take a ticket to a shim, with streams that lead nowhere; the first answer."""
    with socket.socket(socket.AF_UNIX) as channel, open(os.devnull, "r+b") as nowhere:
        control_sockets.at_directory(str(path), channel.connect)
        socket.send_fds(channel, [json.dumps({"ticket": ticket}).encode() + b"\n"], [nowhere.fileno()] * 3)
        answer: dict[str, object] = json.loads(channel.makefile("rb").readline())
        return answer


async def test_who_may_not_exec_gets_no_ticket(pair: Pair) -> None:
    await pair.node.run("p", "sleep", "60")
    authority = pki.Authority(pair.cluster.directory.pki, datetime.now(UTC))
    jane = authority.pair("jane", pki.Subject("jane"))
    tls = pki.client_context(authority.certificate, jane)
    url = f"{pair.cluster.url}/api/v1/namespaces/ns/pods/p/exec?container=main&command=true"
    headers = {"X-Springtide-Direct": "1"}
    async with aiohttp.ClientSession() as session:
        async with session.post(url, ssl=tls, headers=headers) as answer:
            assert answer.status == 403
            assert 'cannot create resource "pods/exec"' in (await answer.json())["message"]
        admin = pki.client_context(authority.certificate, pki.admin_pair(authority))
        async with session.get(url, ssl=admin, headers=headers) as answer:
            assert (answer.status, (await answer.json())["message"]) == (400, "Upgrade request required")
        async with session.post(url, ssl=admin, headers=headers) as answer:
            assert answer.status == 200
    lines = [json.loads(line) for line in pair.cluster.directory.audit.read_text().splitlines()]
    tries = [(line["user"], line["code"]) for line in lines if line["path"].endswith("command=true")]
    assert tries == [("jane", 403), ("kubernetes-admin", 200)]


async def test_refusals_are_said_in_kubectls_words(pair: Pair) -> None:
    pod = await pair.node.run("p", "sleep", "60")
    code, _, err = await pair.kubectl("exec", "-n", "ns", "other", "--", "true")
    assert (code, err) == (1, 'Error from server (NotFound): pods "other" not found\n')
    code, _, err = await pair.kubectl("exec", "-n", "ns", "p", "-c", "other", "--", "true")
    assert (code, err) == (1, "Error from server (BadRequest): container other is not valid for pod p\n")
    code, _, err = await pair.kubectl("exec", "-n", "ns", "p", "--", "no-such-program")
    assert code == 1
    assert err.startswith("error: Internal error occurred: error executing command in container: ")
    assert 'exec: "no-such-program": executable file not found in $PATH' in err
    assert pod.shim is not None
    await pod.shim.end()
    code, _, err = await pair.kubectl("exec", "-n", "ns", "p", "--", "true")
    assert code == 1


async def test_a_server_that_is_being_restarted_is_waited_for(pair: Pair, tmp_path: Path) -> None:
    await pair.node.run("p", "sleep", "60")
    port = pair.node.port
    client = pair.cluster.client("tester")
    endpoint = {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}
    await client.patch(NODES, Key("", "n"), {"status": endpoint}, subresource="status")
    asking = asyncio.ensure_future(pair.kubectl("exec", "-n", "ns", "p", "--", "echo", "hi"))
    await asyncio.sleep(0.5)
    assert not asking.done()
    endpoint["daemonEndpoints"]["kubeletEndpoint"]["Port"] = port
    await client.patch(NODES, Key("", "n"), {"status": endpoint}, subresource="status")
    assert await asking == (0, "hi\n", "")


async def test_a_terminal_is_relayed(pair: Pair) -> None:
    await pair.node.run("p", "sleep", "60")
    master, theirs = pty.openpty()
    ours = Descriptor(master)
    termios.tcsetwinsize(theirs, (17, 91))
    script = "stty size; read line; echo got $line; test -t 0 && test -t 2 && exit 4"
    process = await pair.start("exec", "-it", "-n", "ns", "p", "--", "sh", "-c", script, terminal=theirs)
    os.close(theirs)
    await asyncio.wait_for(_seen(ours, b"17 91\r\n"), PATIENCE)
    await ours.write(b"hello\r")
    await asyncio.wait_for(_seen(ours, b"got hello\r\n"), PATIENCE)
    assert await asyncio.wait_for(process.wait(), PATIENCE) == 4
    ours.close()


async def _seen(terminal: Descriptor, wanted: bytes) -> None:
    seen = b""
    while wanted not in seen:
        more = await terminal.read()
        assert more, seen
        seen += more


async def test_pods_are_listed(pair: Pair) -> None:
    code, out, _ = await pair.kubectl("get", "pods", "-n", "ns")
    assert (code, out.split()[:7]) == (0, ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "p", "0/1"])
    assert (await pair.kubectl("get", "pods", "-n", "ns", "-o", "name"))[1] == "pod/p\n"
    assert json.loads((await pair.kubectl("get", "pod", "p", "-n", "ns", "-o", "json"))[1])["kind"] == "Pod"
