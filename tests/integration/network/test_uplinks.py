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

from springtide.local.network.kernel.nat import Place

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
        from springtide.local.network.names import dns
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


class Host:
    """The machine that a holder found its way out of, to look at after the holder is gone."""

    def __init__(self, network: Network) -> None:
        forks = [pid for pid in _children(network.info()["pid"]) if b"-S" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        (self.servant,) = forks
        self.namespace = os.open(f"/proc/{self.servant}/ns/net", os.O_RDONLY)

    def run(self, *argv: str) -> str:
        inside = [str(shutil.which("nsenter")), f"--net=/proc/self/fd/{self.namespace}", *argv]
        return subprocess.run(inside, pass_fds=[self.namespace], text=True, capture_output=True, check=True).stdout

    def traces(self) -> list[str]:
        """What is there of us: links, and translation where nft is there to tell."""
        tables = self.run("nft", "list", "tables") if shutil.which("nft") else ""
        return [
            word for word in (self.run("ip", "-o", "link") + tables).split() if word.startswith(("tide-", "spring"))
        ]

    def forwards(self) -> bool:
        return self.run("cat", "/proc/sys/net/ipv4/conf/wan/forwarding") == "1\n"

    def forward(self, link: str) -> None:
        self.run("sh", "-c", f"echo 1 > /proc/sys/net/ipv4/conf/{link}/forwarding")

    def close(self) -> None:
        os.close(self.namespace)


@pytest.fixture
def host(prepared: Network, stage: Path) -> Iterator[Host]:
    """One that translates for root."""
    if prepared.person.uid:
        pytest.skip("only root translates")
    start(prepared, stage)
    found = Host(prepared)
    assert found.forwards()
    assert found.traces()
    yield found
    found.close()


def end(network: Network) -> None:
    assert network.holder is not None
    network.ask({"do": "end"})
    network.holder.wait()


def test_translation_leaves_the_host_as_it_was(prepared: Network, host: Host) -> None:
    end(prepared)
    assert (host.traces(), host.forwards()) == ([], False)


def test_translation_ends_when_the_holder_is_killed(prepared: Network, host: Host) -> None:
    prepared.kill_holder()
    eventually(lambda: not host.traces() and not host.forwards())


def test_what_a_killed_servant_left_is_undone_by_the_next(prepared: Network, host: Host) -> None:
    os.kill(host.servant, 9)
    assert prepared.holder is not None
    prepared.holder.wait()  # it is no use without the servant
    assert (len(host.traces()) > 0, host.forwards()) == (True, True)
    prepared.prefix = [str(shutil.which("nsenter")), f"--net=/proc/{os.getpid()}/fd/{host.namespace}"]
    prepared.path = str(prepared.data_dir)
    prepared.start_holder()
    eventually(lambda: not prepared.info()["looking"])
    end(prepared)
    assert (host.traces(), host.forwards()) == ([], False)


def test_a_link_that_forwards_for_others_goes_on(prepared: Network, host: Host) -> None:
    host.forward("all")
    end(prepared)
    assert host.forwards()


def test_the_last_of_two_clusters_ends_the_forwarding(prepared: Network, host: Host, tmp_path: Path) -> None:
    other = Network(prepared.person, tmp_path, path=str(tmp_path))
    other.prefix = [str(shutil.which("nsenter")), f"--net=/proc/{os.getpid()}/fd/{host.namespace}"]
    try:
        other.start_holder()
        eventually(lambda: not other.info()["looking"])
        assert other.info()["uplink"] == "nat"
        end(prepared)
        assert host.forwards()
        assert Place(str(prepared.data_dir / "network")).link not in " ".join(host.traces())
        end(other)
        assert (host.traces(), host.forwards()) == ([], False)
    finally:
        other.close()
