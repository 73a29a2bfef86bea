# SPDX-License-Identifier: Apache-2.0
"""The helper process that netd forks to act in the host's network.

netd cannot leave its namespaces again, but needs things that exist only outside: sockets of the host's network (to
query the host's resolvers) and the tool that forwards packets out. Before it enters the namespaces, netd forks this
helper, which executes requests from a socket pair and exits with netd. Standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import socket
import sys

from springtide.local.network import messages
from springtide.local.network.kernel.namespaces import die_with_parent
from springtide.local.network.kernel.nat import Translation
from springtide.local.network.messages import Incoming

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Answer = tuple[dict[str, Any], list[int]]

_SOCKETS = {
    "udp4": (socket.AF_INET, socket.SOCK_DGRAM),
    "udp6": (socket.AF_INET6, socket.SOCK_DGRAM),
    "tcp4": (socket.AF_INET, socket.SOCK_STREAM),
    "tcp6": (socket.AF_INET6, socket.SOCK_STREAM),
}
_PATIENCE = 5.0
_TELLING = 4096


class Outside:
    """netd's side of the helper process."""

    def __init__(self, directory: str) -> None:
        """Forks the helper. The cluster's network `directory` names its traces on the host, if any."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._host_process = os.fork()
        if self._host_process == 0:
            ours.close()
            _serve(theirs, directory)
        theirs.close()
        ours.settimeout(_PATIENCE)
        self._socket, self._incoming = ours, Incoming(ours)
        self._number = 0

    def fileno(self) -> int:
        return self._socket.fileno()

    def socket(self, kind: str) -> socket.socket:
        """A non-blocking socket of the host's network: `udp4`, `udp6`, `tcp4` or `tcp6`. Raises OSError."""
        _, (descriptor,) = self._ask({"do": "socket", "kind": kind})
        made = socket.socket(fileno=descriptor)
        made.setblocking(False)
        return made

    def run(self, argv: list[str]) -> None:
        """Starts a tool, replacing the running one. FileNotFoundError when it is not installed."""
        self._ask({"do": "run", "argv": argv})

    def state(self) -> tuple[bool, str]:
        """Whether the tool runs, and the last line it printed."""
        answer, _ = self._ask({"do": "state"})
        return bool(answer["running"]), str(answer["said"])

    def stop(self) -> None:
        self._ask({"do": "stop"})

    def translate(self, namespace: int, link: str) -> None:
        """Joins the namespace to the host's network with address translation; for root only. Raises OSError."""
        self._ask({"do": "nat", "link": link}, [namespace])

    def close(self) -> None:
        """Waits until the helper has restored the host's network and exited."""
        self._socket.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._host_process, 0)

    def _ask(self, request: dict[str, Any], descriptors: list[int] | None = None) -> Answer:
        self._number += 1
        messages.send(self._socket, {**request, "number": self._number}, descriptors or ())
        body, received = self._next()
        while body["number"] != self._number:  # the answer to an earlier, abandoned request
            messages.close_all(received)
            body, received = self._next()
        if "error" in body:
            raise OSError(int(body.get("errno") or errno.EIO), str(body["error"]))
        return body, received

    def _next(self) -> Answer:
        while (answer := self._incoming.take()) is None:
            if not self._incoming.read():
                raise ConnectionResetError("the process on the host's side is gone")
        return answer


def _serve(sock: socket.socket, directory: str) -> None:
    """Runs the helper. Never returns: the stack below is a copy of netd's."""
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a clean shutdown is netd's: it closes the socket
        lock = os.open(os.path.join(directory, "outside.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.lockf(lock, fcntl.LOCK_EX)  # the helper of a killed netd cleans up first
        _HostSide(sock, directory).run()
        code = 0
    finally:
        os._exit(code)


class _HostSide:
    def __init__(self, sock: socket.socket, cluster: str) -> None:
        self._socket = sock
        self._tool, self._translation = _Tool(), Translation(cluster)
        self._translation.remove()  # left by a killed predecessor

    def run(self) -> None:
        incoming = Incoming(self._socket)
        try:
            while incoming.read():
                while (message := incoming.take()) is not None:
                    self._reply(*message)
        except OSError:
            return
        finally:
            self._tool.stop()
            self._translation.remove()

    def _reply(self, request: dict[str, Any], received: list[int]) -> None:
        given: list[int] = []
        number = request["number"]
        try:
            body, given = self._answer(request, received)
            messages.send(self._socket, {"number": number, **body}, given)
        except OSError as problem:
            refusal = {"number": number, "error": problem.strerror or str(problem), "errno": problem.errno}
            messages.send(self._socket, refusal)
        finally:
            messages.close_all([*received, *given])

    def _answer(self, request: dict[str, Any], received: list[int]) -> Answer:
        do = request["do"]
        if do == "socket":
            return {}, [socket.socket(*_SOCKETS[request["kind"]]).detach()]
        if do == "run":
            self._tool.start(request["argv"])
        elif do == "stop":
            self._tool.stop()
        elif do == "nat":
            self._translation.install(received[0], request["link"])
        running, said = self._tool.state()
        return {"running": running, "said": said}, []


class _Tool:
    """The one running tool, with its output kept."""

    def __init__(self) -> None:
        self._pid = 0
        self._words: int | None = None
        self._said = ""

    def start(self, argv: list[str]) -> None:
        self.stop()
        self._said = ""
        path = _found(argv[0])
        self._words, theirs = os.pipe()
        os.set_blocking(self._words, False)
        self._pid = os.fork()
        if self._pid == 0:
            _become(path, argv, theirs)
        os.close(theirs)

    def state(self) -> tuple[bool, str]:
        self._listen()
        if self._pid and os.waitpid(self._pid, os.WNOHANG)[0]:
            self._listen()
            self._pid = 0
        return bool(self._pid), self._said

    def stop(self) -> None:
        if self._pid:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
            self._pid = 0
        if self._words is not None:
            os.close(self._words)
            self._words = None

    def _listen(self) -> None:
        if self._words is None:
            return
        with contextlib.suppress(BlockingIOError):
            while words := os.read(self._words, _TELLING):
                self._said = last_words(words.decode(errors="replace")) or self._said


def last_words(text: str) -> str:
    """The last line, without its timestamp, and without pasta's complaints about a missing syslog."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and "syslog" not in line]
    if not lines:
        return ""
    time, colon, rest = lines[-1].partition(": ")
    return rest if colon and time.replace(".", "").isdigit() else lines[-1]


def _found(name: str) -> str:
    for directory in os.get_exec_path():
        path = os.path.join(directory, name)
        if os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(errno.ENOENT, f"{name} is not installed")


def _become(path: str, argv: list[str], words: int) -> None:
    try:
        die_with_parent(signal.SIGKILL)
        for number in (signal.SIGPIPE, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)  # the tool would inherit ignored signals; pasta needs them
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(words, 1)
        os.dup2(words, 2)
        os.execv(path, argv)
    except OSError as problem:
        print(problem, file=sys.stderr, flush=True)
    finally:
        os._exit(127)
