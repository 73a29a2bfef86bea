# SPDX-License-Identifier: Apache-2.0
"""A network with its holder, as root and as an ordinary user, and pods in it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import springtide
from springtide.local.network.messages import Conversation

SOMEBODY = 54321
"""A uid that needs no account."""
PATIENCE = 30.0


@dataclass
class Person:
    """Who runs holder and pods; the sources that he can read, and an interpreter for them."""

    uid: int
    interpreter: str
    source: Path

    def start(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        if os.getuid() != self.uid:
            options |= {"user": self.uid, "group": self.uid, "extra_groups": []}
        return subprocess.Popen(argv, text=True, cwd="/", start_new_session=True, **options)


@dataclass
class Pod:
    process: subprocess.Popen[str]

    def said(self) -> str:
        """Everything it printed, when it has ended well."""
        assert self.process.stdout is not None
        out = self.process.stdout.read()
        assert self.process.wait(30) == 0, out
        return out

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()


@dataclass
class Network:
    person: Person
    data_dir: Path
    prefix: Sequence[str] = ()
    """What the holder is started through, by root, to become that person in the end."""
    path: str = os.defpath
    options: Sequence[str] = ()
    holder: subprocess.Popen[str] | None = None
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def socket(self) -> Path:
        return self.data_dir / "network" / "holder.sock"

    def start_holder(self) -> None:
        """One that answers."""
        holder = self.spawn_holder()
        eventually(lambda: bool(self.info()) or holder.poll() is not None)
        if holder.poll() is not None:
            words = (self.data_dir / "holder.log").read_text()
            if "Operation not permitted" in words or "No space left on device" in words:
                pytest.skip(f"this system refuses namespaces: {words.strip().splitlines()[-1]}")
            raise AssertionError(words)

    def spawn_holder(self) -> subprocess.Popen[str]:
        script = self.person.source / "springtide" / "local" / "network" / "__main__.py"
        argv = [*self.prefix, self.person.interpreter, "-I", "-S", str(script), str(self.data_dir), *self.options]
        log = (self.data_dir / "holder.log").open("a")
        options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        options["env"] = {"PATH": self.path}
        if self.prefix:
            self.holder = subprocess.Popen(argv, text=True, cwd="/", start_new_session=True, **options)
        else:
            self.holder = self.person.start(argv, **options)
        log.close()
        self.started.append(self.holder)
        return self.holder

    def kill_holder(self) -> None:
        assert self.holder is not None
        self.holder.kill()
        self.holder.wait()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        conversation = Conversation(str(self.socket), 5)
        try:
            answer, received = conversation.ask(request)
            assert not received
            return answer
        finally:
            conversation.close()

    def info(self) -> dict[str, Any]:
        with contextlib.suppress(OSError):
            return self.ask({"do": "info"})
        return {}

    def services(self, *rows: dict[str, Any]) -> None:
        self.ask({"do": "table", "table": {"services": list(rows)}})

    def pod(self, address: str, code: str) -> Pod:
        """A pod that has its cable and now runs the code."""
        script = str(self.person.source / "pod.py")
        argv = [self.person.interpreter, "-I", script, str(self.person.source), str(self.data_dir), address, code]
        process = self.person.start(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.started.append(process)
        pod = Pod(process)
        first = pod.line()
        if first != "ready":
            raise AssertionError(first + "\n" + pod.said())
        return pod

    def close(self) -> None:
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()


def eventually(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not met():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def service(
    name: str,
    address: str = "",
    *,
    ports: Sequence[tuple[str, str, int, Sequence[tuple[str, int]]]] = (),
    endpoints: Sequence[tuple[str, str]] = (),
    **more: Any,
) -> dict[str, Any]:
    """A row of the table; ports are (name, protocol, port, targets), endpoints (address, hostname)."""
    rows = [{"name": n, "protocol": p, "port": number, "targets": targets} for n, p, number, targets in ports]
    behind = [{"address": a, "hostname": h, "ports": []} for a, h in endpoints]
    base = {"namespace": "default", "name": name, "address": address, "external": "", "affinity": 0}
    return base | {"ports": rows, "endpoints": behind} | more


@pytest.fixture(scope="session")
def source() -> Iterator[Path]:
    """The holder's modules where everybody may read them; the repository may lie in a closed home."""
    with tempfile.TemporaryDirectory(prefix="springtide-source-") as directory:
        yield _copied(Path(directory))


def _copied(root: Path) -> Path:
    root.chmod(0o755)
    package = Path(springtide.__file__).parent
    for part in ("__init__.py", "local/__init__.py", "local/bounded_json.py", "local/control_sockets.py"):
        (root / "springtide" / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(package / part, root / "springtide" / part)
    shutil.copytree(package / "local" / "network", root / "springtide" / "local" / "network")
    shutil.copy(Path(__file__).with_name("pod.py"), root)
    return root


def _interpreter(uid: int, source: Path) -> str:
    for candidate in (sys._base_executable, "/usr/bin/python3", "/usr/local/bin/python3"):  # type: ignore[attr-defined]
        check = [candidate, "-I", "-c", "import sys, ctypes; sys.exit(sys.version_info < (3, 11))"]
        options: dict[str, Any] = {} if uid == os.getuid() else {"user": uid, "group": uid, "extra_groups": []}
        with contextlib.suppress(OSError):
            if subprocess.run(check, cwd="/", capture_output=True, check=False, **options).returncode == 0:
                return str(candidate)
    pytest.skip("no Python 3.11 that an ordinary user may read: install one outside of root's home")


@pytest.fixture(params=["root", "ordinary"])
def person(request: pytest.FixtureRequest, source: Path) -> Person:
    if sys.platform != "linux":
        pytest.skip("network namespaces are Linux's")
    if request.param == "root" and os.getuid() != 0:
        pytest.skip("only root can act as root")
    uid = SOMEBODY if request.param == "ordinary" and os.getuid() == 0 else os.getuid()
    return Person(uid, _interpreter(uid, source), source)


@pytest.fixture
def network(prepared: Network) -> Network:
    """With a holder that answers, and without a way out: tests leave the machine's own network alone."""
    prepared.options = ("--no-uplink",)
    prepared.start_holder()
    return prepared


@pytest.fixture
def prepared(person: Person) -> Iterator[Network]:
    """Everything but the holder. Not under pytest's own directories: those are closed to others."""
    with tempfile.TemporaryDirectory(prefix="springtide-network-") as directory:
        os.chown(directory, person.uid, person.uid)
        made = Network(person, Path(directory))
        try:
            yield made
        finally:
            made.close()
