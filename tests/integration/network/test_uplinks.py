# SPDX-License-Identifier: Apache-2.0
"""Ways to the outside, on a machine made for the purpose: see world.sh."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.network.conftest import Network, eventually, service

HERE = Path(__file__).parent
CALLING = textwrap.dedent("""
    import socket
    def call(name):
        try:
            print(socket.create_connection((name, 8000), 5).recv(100).decode())
        except OSError as problem:
            print(problem.errno)
""")


@pytest.fixture
def stage() -> Iterator[Path]:
    if os.getuid() != 0:
        pytest.skip("only root can set up a machine with a network of its own")
    for tool in ("unshare", "nsenter", "setpriv", "ip", "mount"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed (util-linux, iproute2)")
    with tempfile.TemporaryDirectory(prefix="springtide-world-") as directory:
        place = Path(directory)
        place.chmod(0o755)
        (place / "tools").mkdir(mode=0o755)
        (place / "resolv.conf").write_text("nameserver 203.0.113.7\n")
        try:
            os.mknod(place / "tun", 0o666 | 0o020000, os.makedev(10, 200))
            (place / "tun").chmod(0o666)
            subprocess.run(["unshare", "-n", "-m", "true"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as problem:
            pytest.skip(f"this system refuses devices or namespaces: {problem}")
        yield place


def start(network: Network, stage: Path, *tools: str) -> None:
    """The holder on that machine, with just these tools installed; returns when it has looked for a way out."""
    for tool in tools:
        found = shutil.which(tool)
        if found is None:
            pytest.skip(f"{tool} is not installed")
        (stage / "tools" / tool).symlink_to(found)
    world = [str(stage / "tun"), str(stage / "resolv.conf"), str(network.person.uid), str(stage / "tools")]
    interpreter = network.person.interpreter
    network.prefix = ["unshare", "-n", "-m", "sh", str(HERE / "world.sh"), *world, interpreter, str(HERE / "world.py")]
    network.path = os.environ["PATH"]
    network.start_holder()
    eventually(lambda: not network.info()["looking"])


@pytest.mark.parametrize("tool", ["pasta", "slirp4netns"])
def test_a_tool_leads_out(prepared: Network, stage: Path, tool: str) -> None:
    start(prepared, stage, tool)
    expected = "nat" if tool == "pasta" and prepared.person.uid == 0 else tool
    assert (prepared.info()["uplink"], prepared.info()["why"]) == (expected, "")
    prepared.services(service("far", external="example.com"))
    code = CALLING + "call('203.0.113.7'); call('example.com'); call('far')"
    assert prepared.pod("10.244.1.2", code).said().splitlines() == ["you are 198.51.100.2"] * 3


def test_names_outside_are_also_found_by_tcp(prepared: Network, stage: Path) -> None:
    start(prepared, stage, "slirp4netns")
    code = textwrap.dedent("""
        import socket, struct
        from springtide.local.network import dns
        peer = socket.create_connection(("10.96.0.10", 53), 5)
        for name in "example.com", "example.org":
            question = dns.query(7, name, dns.A)
            peer.sendall(struct.pack("!H", len(question)) + question)
            (length,) = struct.unpack("!H", peer.recv(2, socket.MSG_WAITALL))
            answer = peer.recv(length, socket.MSG_WAITALL)
            print(answer[:2] == question[:2], [socket.inet_ntoa(r.data) for r in dns.parse_answer(answer)[1]])
    """)
    assert prepared.pod("10.244.1.2", code).said().splitlines() == ["True ['203.0.113.7']", "True []"]


def test_a_tool_that_ends_is_started_again(prepared: Network, stage: Path) -> None:
    start(prepared, stage, "slirp4netns")
    (tool,) = _tools(prepared)
    os.kill(tool, 9)
    eventually(lambda: _tools(prepared) not in ([], [tool]) and prepared.info()["uplink"] == "slirp4netns")
    assert prepared.pod("10.244.1.2", CALLING + "call('203.0.113.7')").said() == "you are 198.51.100.2\n"


def _tools(network: Network) -> list[int]:
    """What the holder's servant has started."""
    return [tool for child in _children(network.info()["pid"]) for tool in _children(child)]


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_without_tools_root_translates_and_others_are_told_why_they_cannot(prepared: Network, stage: Path) -> None:
    start(prepared, stage)
    said = prepared.pod("10.244.1.2", CALLING + "call('203.0.113.7'); call('example.com')").said().splitlines()
    if prepared.person.uid == 0:
        assert prepared.info()["uplink"] == "nat"
        assert said == ["you are 198.51.100.2"] * 2
    else:
        assert prepared.info()["uplink"] == "none"
        assert prepared.info()["why"] == "pasta: pasta is not installed; slirp4netns: slirp4netns is not installed"
        assert said == ["101", "-3"]  # no route; the name could not be asked for
