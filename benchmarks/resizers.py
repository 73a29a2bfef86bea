# SPDX-License-Identifier: Apache-2.0
"""Who is measured by `resize.py`: a launcher with its program, started with two ranks and told to have three.

Each rank stands for a host of its own. Ours and Horovod's launcher read the hosts from a script that we exchange; all
names lead to this machine, so nothing goes over ssh. torchrun has no launcher above its agents: here we start and end
them.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from diaries import Diaries

ROOT = Path(__file__).parent.parent
PROGRAMS = Path(__file__).parent / "resizing"
HOSTS = ("localhost", "127.0.0.1", socket.gethostname())
"""Horovod takes a host for its own machine when its name leads to the address of an interface."""
_NOTED = """
"$@" & pid=$!
trap "kill -TERM $pid" TERM
while :; do wait $pid; code=$?; kill -0 $pid 2>/dev/null || break; done
echo "$code $TIDE_HOST$HOROVOD_HOSTNAME$RESIZE_HOST" >> "$RESIZE_FOLDER/exits"
exit $code
"""
_GRACE = 20.0
_RENDEZVOUS = "last_call_timeout=3,keep_alive_interval=1,keep_alive_max_attempt=5"
"""Agents wait so long for one more of them (30 s if not told), and for one that is gone (15 s). Where they wait less, a
busy machine splits them into groups that train by themselves."""


class Group:
    """A run under measurement."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.diaries = Diaries(folder)
        self.environment = environment
        self._processes: list[subprocess.Popen[bytes]] = []

    def resize(self, size: int) -> None:
        raise NotImplementedError

    def exits(self, host: str) -> list[int]:
        """Codes of the ranks' processes that have ended on a host."""
        file = self.folder / "exits"
        lines = file.read_text().splitlines() if file.exists() else []
        return [int(code) for code, where in map(str.split, lines) if where == host]

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def close(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for pid in {step.pid for step in self.diaries.last().values()}:
            _killed(pid)

    def _launch(self, command: Sequence[str], **variables: str) -> None:
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**self.environment, **variables},
                start_new_session=True,
            )
        self._processes.append(process)

    def program(self, python: Path, name: str) -> tuple[str, ...]:
        """What a launcher starts: a shell that writes down how the program ended."""
        return ("/bin/sh", "-c", _NOTED, "rank", str(python), str(PROGRAMS / name))


class Listed(Group):
    """Under a launcher that asks a script for its hosts."""

    def start(self, launcher: Sequence[str], program: Sequence[str]) -> None:
        self.resize(2)
        self._launch([*launcher, "--host-discovery-script", str(self.folder / "hosts.sh"), *program])

    def resize(self, size: int) -> None:
        new = self.folder / "hosts.new"
        new.write_text("#!/bin/sh\n" + "".join(f"echo {host}:1\n" for host in HOSTS[:size]))
        new.chmod(0o755)
        new.rename(self.folder / "hosts.sh")


class Agents(Group):
    """Under agents that find each other."""

    def start(self, agent: Sequence[str]) -> None:
        self._agent = agent
        self.resize(2)

    def resize(self, size: int) -> None:
        running = [process for process in self._processes if process.poll() is None]
        for process in running[size:]:
            process.send_signal(signal.SIGTERM)
        for host in HOSTS[len(running) : size]:
            self._launch(self._agent, RESIZE_HOST=host)


@dataclass(frozen=True)
class Contender:
    start: Callable[[Path, Mapping[str, str]], Group]
    patience: float = 60.0
    """Seconds after which something is not going to happen any more."""


def ours(python: Path, program: str) -> Contender:
    def start(folder: Path, environment: Mapping[str, str]) -> Group:
        group = Listed(folder, {**environment, "PYTHONPATH": str(ROOT / "src")})
        launcher = (sys.executable, "-m", "springtide.elastic.launcher", "-np", "2", "--min-np", "1", "--max-np", "3")
        group.start((*launcher, "--blacklist-cooldown-range", "1", "2"), group.program(python, program))
        return group

    return Contender(start)


def horovod(python: Path) -> Contender:
    def start(folder: Path, environment: Mapping[str, str]) -> Group:
        path = f"{python.parent}:{environment['PATH']}"
        group = Listed(folder, {**environment, "PATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"})
        launcher = (str(python), str(python.parent / "horovodrun"), "-np", "2", "--min-np", "1", "--max-np", "3")
        options = ("--network-interfaces", "lo", "--blacklist-cooldown-range", "1", "2")
        group.start((*launcher, *options), group.program(python, "theirs_horovod.py"))
        return group

    return Contender(start, patience=90.0)


def torchrun(python: Path) -> Contender:
    def start(folder: Path, environment: Mapping[str, str]) -> Group:
        # Agents that were there before do not tell newcomers where the ranks' store is, unless it is no agent's.
        group = Agents(folder, {**environment, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"})
        place = ("--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{_port()}", "--rdzv-id", "resize")
        limits = ("--nnodes", "1:3", "--nproc-per-node", "1", "--max-restarts", "100")
        settings = (
            "--rdzv-conf",
            _RENDEZVOUS,
            "--local-addr",
            "127.0.0.1",
            "--no-python",
        )
        program = group.program(python, "theirs_torchrun.py")
        group.start((str(python), "-m", "torch.distributed.run", *place, *limits, *settings, *program))
        return group

    return Contender(start, patience=90.0)


@contextmanager
def running(contender: Contender, megabytes: int) -> Iterator[Group]:
    with tempfile.TemporaryDirectory(prefix="resize-") as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment |= {"RESIZE_FOLDER": folder, "RESIZE_MEGABYTES": str(megabytes), "OMP_NUM_THREADS": "1"}
        group = contender.start(Path(folder), environment)
        try:
            yield group
        finally:
            group.close()


def _killed(pid: int) -> None:
    try:
        if "resizing" in Path(f"/proc/{pid}/cmdline").read_text():
            os.kill(pid, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        pass  # as it should be


def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
