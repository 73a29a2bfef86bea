# SPDX-License-Identifier: Apache-2.0
"""Ranks on two machines with ssh between them: two networks joined by a cable, and a real sshd on the other side."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.integration.elastic.launching import alive, until

pytestmark = pytest.mark.timeout(120)

HERE, THERE = "10.213.7.1", "10.213.7.2"
PROGRAM = Path(__file__).with_name("averages.py")


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@dataclass
class Machines:
    inside: list[str]
    """What a command begins with that runs on the first one."""
    key: Path
    away: list[str]

    @property
    def command(self) -> list[str]:
        return [*self.inside, sys.executable, "-m", "springtide.elastic.launcher", "-p", "2222", "-i", str(self.key)]

    def tiderun(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self.command, *arguments], capture_output=True, text=True, timeout=60)


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    if os.getuid() != 0:
        pytest.skip("only root can set up networks and an sshd")
    for tool in ("unshare", "nsenter", "ip", "ssh", "ssh-keygen", "/usr/sbin/sshd"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    holders = [subprocess.Popen(["unshare", "-n", "sleep", "300"]) for _ in range(2)]
    try:
        until(lambda: all(separate(holder.pid) for holder in holders), "networks of their own")
        here, there = (["nsenter", "-t", str(holder.pid), "-n"] for holder in holders)
        wire(holders[1].pid, here, there)
        with sshd(tmp_path, there):
            yield Machines(here, tmp_path / "key", there)
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()


def separate(pid: int) -> bool:
    own = os.readlink("/proc/self/ns/net")
    return os.readlink(f"/proc/{pid}/ns/net") != own and Path(f"/proc/{pid}/comm").read_text().strip() == "sleep"


def wire(other: int, here: list[str], there: list[str]) -> None:
    name = f"tide{os.getpid() % 100000}"
    run(*here, "ip", "link", "add", name, "type", "veth", "peer", "name", "cable")
    run(*here, "ip", "link", "set", "cable", "netns", str(other))
    for inside, device, address in ((here, name, HERE), (there, "cable", THERE)):
        run(*inside, "ip", "address", "add", f"{address}/24", "dev", device)
        for each in ("lo", device):
            run(*inside, "ip", "link", "set", each, "up")


@contextmanager
def sshd(folder: Path, inside: list[str]) -> Iterator[None]:
    for name in ("host", "key"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
    (folder / "key.pub").rename(folder / "authorized")
    os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    options = {
        "Port": "2222",
        "ListenAddress": THERE,
        "HostKey": str(folder / "host"),
        "AuthorizedKeysFile": str(folder / "authorized"),
        "StrictModes": "no",
        "PidFile": "none",
        "UsePAM": "no",
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    with open(folder / "sshd.log", "wb") as log:
        process = subprocess.Popen(
            [*inside, "/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", *words], stdout=log, stderr=log
        )
    try:
        until(lambda: b"listening" in (folder / "sshd.log").read_bytes(), "sshd listens")
        yield
    finally:
        process.terminate()
        process.wait()


def test_ranks_on_both_train_together(machines: Machines) -> None:
    hosts = f"{HERE}:2,{THERE}:2"
    ended = machines.tiderun("-np", "4", "-H", hosts, sys.executable, str(PROGRAM), "20")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    lines = sorted(line for line in ended.stdout.splitlines() if not line.startswith("{"))
    assert lines == [f"[{rank}]<stdout>:rank {rank} of 4: 20 steps, 20" for rank in range(4)]


def test_a_machine_that_is_not_there(machines: Machines) -> None:
    ended = machines.tiderun("-np", "1", "-H", "10.213.7.9:1", "--start-timeout", "3", "hostname")
    assert ended.returncode == 1
    assert "[0] on 10.213.7.9 could not be started" in ended.stderr


def test_an_interface_may_be_chosen(machines: Machines) -> None:
    ended = machines.tiderun("-np", "1", "-H", f"{THERE}:1", "--network-interface", "lo", sys.executable, "-V")
    assert ended.returncode == 1
    assert "--network-interface: lo has no address that other hosts could reach tiderun at" in ended.stderr


def test_a_cable_is_cut(machines: Machines, tmp_path: Path) -> None:
    """Nobody hangs up then: what was sent is on its way for ever. Both sides find out by themselves."""
    program = [sys.executable, str(PROGRAM), "600"]
    names = [f"{HERE}:1", f"{THERE}:1"]
    options = [
        "-np",
        "2",
        "--min-np",
        "1",
        "-H",
        ",".join(names),
        "--output-filename",
        str(tmp_path / "out"),
        "--verbose",
    ]
    with open(tmp_path / "log", "wb") as log:
        launcher = subprocess.Popen([*machines.command, *options, *program], stdout=log, stderr=log)
    words = (tmp_path / "log").read_text
    until(lambda: "generation 1: 2 ranks" in words(), "both train")
    there = until(lambda: ranks(machines.away), "a rank on the other machine")
    run(*machines.away, "ip", "link", "set", "cable", "down")
    assert launcher.wait(60) == 0, words()
    assert f"on {THERE} sent no heartbeat for 2 s" in words()
    assert "[0]<stdout>:rank 0 of 1: 600 steps, 600" in words()
    until(lambda: not any(alive(pid) for pid in there), "the other machine has cleaned up")


def ranks(inside: list[str]) -> list[int]:
    """Processes of the program in that network."""
    network = subprocess.run([*inside, "readlink", "/proc/self/ns/net"], capture_output=True, text=True).stdout.strip()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if str(PROGRAM).encode() in words and os.readlink(entry / "ns" / "net") == network:
                found.append(int(entry.name))
    return found
