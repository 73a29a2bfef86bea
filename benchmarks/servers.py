# SPDX-License-Identifier: Apache-2.0
"""The two servers under measurement, each started fresh as processes of its own and stopped afterwards.

The embedded one is `tide up` with all its controllers; the real one is kube-apiserver and etcd *without* controllers
and scheduler, which favours it: nothing else of it takes processor time, and only these two are counted as memory.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import load
import machine
import yaml

from springtide.local.datadir import DataDir

ROOT = Path(__file__).parent.parent
ORACLE = ROOT / "hack" / "oracle" / "control_plane.py"
# What runs inside the oracle: says where it is and when that was, then waits for the end of its input.
INSIDE = "import json, os, sys, time; print(json.dumps([time.time(), dict(os.environ)]), flush=True); sys.stdin.read()"

PATIENCE = 120
"""Seconds for one measurement; a server that stops answering must not hold the benchmark for ever."""


@dataclass(frozen=True)
class Running:
    name: str
    address: load.Server
    processes: dict[str, int]
    """Process ids by what they are."""
    ready_after: float
    """Seconds from the start of the first process to the first good answer of /readyz."""
    kubeconfig: str
    """Leads to it as its administrator."""

    def memory(self) -> dict[str, float]:
        """Resident memory in MB, by process."""
        return {name: machine.resident(pid) for name, pid in self.processes.items()}

    def processor_seconds(self) -> float:
        """Used so far, by all processes."""
        return sum(machine.used(pid) for pid in self.processes.values())

    def ask(self, what: str, **arguments: Any) -> Any:
        """One measurement by a load process of its own."""
        order = {"server": vars(self.address), "what": what, **arguments}
        command = [sys.executable, str(Path(load.__file__))]
        try:
            done = subprocess.run(
                command, input=json.dumps(order), capture_output=True, text=True, check=False, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            raise SystemExit(f"{self.name}: {what} has not ended after {PATIENCE} s") from None
        if done.returncode:
            raise SystemExit(f"{self.name}: {what}: {done.stderr}")
        return json.loads(done.stdout)

    def version(self) -> str:
        return str(json.loads(_get(self.address.port, "/version"))["gitVersion"])


@contextmanager
def embedded() -> Iterator[Running]:
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        port = _free_port()
        command = [sys.executable, "-m", "springtide.cli", "up", "--no-nodes", "--no-operator"]
        command += ["--data-dir", home, "--port", str(port)]
        # Installed packages have their byte code beside them; a development machine may forbid to write it.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        started = time.time()
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait_ready(port, process)
            ready = time.time() - started
            address = load.Server(port, certificate=_certificate(Path(home)))
            server = DataDir(Path(home)).server_process()
            assert server is not None
            processes = {"server": server, "supervisor": process.pid}
            yield Running("embedded", address, processes, ready, str(Path(home) / "kubeconfig"))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


@contextmanager
def real(*, bare: bool = True) -> Iterator[Running]:
    """Bare: without kube-controller-manager and kube-scheduler."""
    alone = ["--bare"] if bare else []
    command = [sys.executable, str(ORACLE), *alone, "run", "--", sys.executable, "-c", INSIDE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ready, environment = json.loads(process.stdout.readline())
        processes = {Path(machine.words(pid)[0]).name: pid for pid in machine.children(process.pid)}
        processes = {name: processes[name] for name in ("kube-apiserver", "etcd")}
        port = int(environment["SPRINGTIDE_ORACLE_SERVER"].rpartition(":")[2])
        address = load.Server(port, environment["SPRINGTIDE_ORACLE_TOKEN"])
        kubeconfig = environment["SPRINGTIDE_ORACLE_KUBECONFIG"]
        try:
            yield Running("kube-apiserver", address, processes, ready - machine.started(processes["etcd"]), kubeconfig)
        finally:
            process.stdin.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_ready(port: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            _get(port, "/readyz")
        except OSError:  # refused, or not ready yet
            time.sleep(0.005)
        else:
            return
    raise SystemExit("the embedded server did not start")


def _get(port: int, path: str) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with urllib.request.urlopen(f"https://127.0.0.1:{port}{path}", context=context, timeout=5) as answer:
        return bytes(answer.read())


def _certificate(home: Path) -> str:
    """The administrator's certificate and key, as one file."""
    kubeconfig = home / "kubeconfig"
    while not kubeconfig.exists():  # written just after the server answers
        time.sleep(0.01)
    user = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]
    pair = home / "bench.pem"
    pair.write_bytes(b"".join(base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key")))
    return str(pair)
