# SPDX-License-Identifier: Apache-2.0
"""The shim process: serves requests, supervises containers and commands, and finally exits."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import termios
import time

from springtide.local.directory_trees import remove_tree
from springtide.local.runtime.shim.container import Attachment, Container
from springtide.local.runtime.shim.execution import Execution
from springtide.local.runtime.shim.init import children_of, pause, signal_number
from springtide.local.runtime.shim.json_lines import decode, read_json, write_json
from springtide.local.runtime.shim.kernel import (
    CLONE_NEWPID,
    PR_SET_NAME,
    Ignoring,
    Refusal,
    boot_id,
    close_others,
    complain,
    describe,
    prctl,
    start_time,
    unshare,
)
from springtide.local.runtime.shim.loop import Loop
from springtide.local.runtime.shim.memory import SAMPLING, remove_groups
from springtide.local.runtime.shim.messages import Bounds, Client, Listener
from springtide.local.runtime.shim.program import IGNORED, report
from springtide.local.runtime.shim.sandbox import Sandbox
from springtide.local.runtime.shim.tickets import Tickets

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    import socket
    from collections.abc import Callable
    from typing import Any

    Obj = dict[str, Any]
else:
    import _signal as signal
    import _socket as socket


TICKET_MESSAGE, TICKET_FDS = 1024, 3
"""Limits of a request at the exec socket: a ticket and its streams."""
MOST_UNPROVED = 32
"""Clients at the exec socket that have presented no ticket yet. A genuine client presents it at once."""
LONGEST_GRACE = 1e9
"""Seconds; more than a Pod object can request, and within the range of every clock."""
LOOK_ROUND = 2.0


class Shim:
    """The state of a shim and the handlers of its requests."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        body = read_json(f"{directory}/body.json")
        self.uid: str = body["uid"]
        self.sandbox = Sandbox(directory, body)
        self.isolated = self.sandbox.isolated
        self.user = self.sandbox.user
        self.shm = self.sandbox.shm
        self.owns_processes = self.isolated and not body.get("share_processes")
        """Whether each container has a PID namespace of its own."""
        self.shared_pids = -1
        self.loop = Loop()
        self.loop.on_orphan = self._orphan_ended
        self.containers: list[Container] = []
        """The containers that are not closed yet."""
        self.executions: dict[int, Execution] = {}
        self.unsettled: list[Execution] = []
        """Executions whose start has neither succeeded nor failed yet."""
        self.states: dict[str, Obj] = {}
        self._unwritten: list[Obj] = []
        self._watchers: list[Client] = []
        self._tickets = Tickets()
        self._sampling = self.ending = False
        self._listeners: list[Listener] = []
        self._exec_socket: str = body.get("exec_socket", "")
        self._requests: dict[str, Callable[[Client, Obj, list[int]], None]] = {
            "start": self._start,
            "stop": self._stop,
            "states": self._tell_states,
            "watch": self._watch,
            "exec": self._exec,
            "attach": self._attach,
            "resize": self._resize,
            "socket": self._socket,
            "allow": self._allow,
            "usage": self._usage,
            "namespaces": self._namespaces,
            "end": self._end,
        }

    def open(self) -> None:
        """Create the sandbox, the sockets, and last `shim.json`, which marks the shim as running."""
        self._recall()
        self.sandbox.enter()
        if self.isolated and not self.owns_processes:
            self._share_processes()
        self._listeners.append(Listener(self.loop, f"{self.directory}/shim.sock", 0o600, self._serve))
        if self._exec_socket:
            # Open to every user: the ticket is the permission, and the node agent mounts the socket only into pods that
            # were given one.
            place, bounds = self._exec_socket, Bounds(TICKET_MESSAGE, TICKET_FDS)
            self._listeners.append(Listener(self.loop, place, 0o666, self._serve_ticket, bounds, MOST_UNPROVED))
        pid = os.getpid()
        start = start_time(pid) if sys.platform == "linux" else 0
        write_json(f"{self.directory}/shim.json", {"pid": pid, "boot": boot_id(), "start": start})
        self.loop.after(LOOK_ROUND, self._look_round)

    def _recall(self) -> None:
        """Take over the states of an earlier shim: its containers died with it."""
        remove_groups(self.directory)
        for state in left_states(self.directory):
            if state["status"] != "exited":
                state.update(LOST, finished=time.time())
                self.publish(state)
            self.states[state["name"]] = state

    def _share_processes(self) -> None:
        """Create one PID namespace for all containers: its first process, and a descriptor to enter it by."""
        reading, writing = os.pipe()
        waiting, self._pause_go = os.pipe()

        def between() -> None:
            close_others([waiting, writing])
            unshare(CLONE_NEWPID)
            report(writing, pid=Loop.fork(lambda: pause(waiting)))
            os._exit(0)

        child = self.loop.fork(between)
        os.close(writing)
        os.close(waiting)
        os.waitpid(child, 0)
        with open(reading, "rb") as file:
            text = file.readline()
        if not text:
            raise Refusal("SandboxError", "cannot make a PID namespace for the containers to share")
        self.shared_pids = os.open(f"/proc/{decode(text)['pid']}/ns/pid", os.O_RDONLY)
        os.write(self._pause_go, b".")

    def kept_fds(self) -> list[int]:
        return [self.shared_pids] if self.shared_pids >= 0 else []

    # States

    def publish(self, state: Obj) -> None:
        """Remember a container's state, write it to disk and send it to the watchers."""
        known = self.states.get(state["name"])
        if known is None or known["attempt"] <= state["attempt"]:
            self.states[state["name"]] = state
        if state["status"] == "starting":
            return
        self._write(state)
        for client in list(self._watchers):
            client.send({"state": state})

    def _write(self, state: Obj) -> None:
        try:
            os.makedirs(f"{self.directory}/containers/{state['name']}", exist_ok=True)
            write_json(f"{self.directory}/containers/{state['name']}/{state['attempt']}.json", state)
        except FileNotFoundError:
            pass  # the pod's directory is gone, and its states are not needed any more
        except OSError as error:  # a full disk: the watchers have the state already, the file is written later
            complain(f"cannot write the state of {state['name']}: {describe(error)}")
            if not self._unwritten:
                self.loop.after(1.0, self._write_again)
            if state not in self._unwritten:
                self._unwritten.append(state)

    def _write_again(self) -> None:
        states, self._unwritten = self._unwritten, []
        for state in states:
            self._write(state)

    def container_closed(self, container: Container) -> None:
        self.containers.remove(container)
        if self.isolated:
            self.sweep(f"{container.folder}/root/{container.attempt}")
        elif not self.containers:
            self._kill_orphans()
        if self.ending and not self.containers:
            self.loop.done = True

    def sweep(self, path: str) -> None:
        """Remove a dead container's root in a child process, so that the loop is not blocked."""

        def work() -> None:
            close_others([])
            remove_tree(path)
            os._exit(0)

        with Ignoring(OSError):  # it is removed with the pod's directory
            self.loop.fork(work)

    def _kill_orphans(self) -> None:
        """Without PID namespaces, processes that outlived their init have become the shim's own children."""
        for pid in children_of(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue

    def _orphan_ended(self, pid: int, status: int, usage: Any) -> None:
        """A process that the shim inherited from an intermediate process; its PID may still be unread in a report
        pipe."""
        for container in self.containers:
            container.read_report()
        for unsettled in list(self.unsettled):
            unsettled.read_report()
        for container in list(self.containers):
            if container.pid == pid:
                container.ended(status)
        execution = self.executions.pop(pid, None)
        if execution:
            execution.ended(status, usage)

    def sample_memory(self) -> None:
        if not self._sampling and self._limited():
            self._sampling = True
            self.loop.after(SAMPLING, self._sample)

    def _sample(self) -> None:
        self._sampling = False
        for container in self._limited():
            container.check_memory()
        self.sample_memory()

    def _limited(self) -> list[Container]:
        return [
            container
            for container in self.containers
            if container.body.get("memory_limit") and not container.group and container.state["status"] == "running"
        ]

    def _look_round(self) -> None:
        """End the shim when its pod was removed while no agent could notify it."""
        if not os.path.exists(f"{self.directory}/body.json"):
            self._end_all()
        self.loop.after(LOOK_ROUND, self._look_round)

    # Requests

    def _serve(self, client: Client, message: Obj, fds: list[int]) -> None:
        act = self._requests.get(message.get("do", ""))
        if not act:
            raise Refusal("BadRequest", f"unknown request {message.get('do')!r}")
        act(client, message, fds)

    def _serve_ticket(self, client: Client, message: Obj, fds: list[int]) -> None:
        granted = self._tickets.take(str(message["ticket"]), time.monotonic())
        if not granted:
            raise Refusal("Forbidden", "this ticket was used before, has expired or was never given")
        client.proved = True
        self._exec(client, {**granted, "takes_terminal": message.get("takes_terminal")}, fds)

    def _running(self, message: Obj) -> Container:
        name = message["container"]
        for container in self.containers:
            if container.name == name and container.state["status"] == "running":
                return container
        raise Refusal("NotRunning", f'container "{name}" is not running')

    def _start(self, client: Client, message: Obj, fds: list[int]) -> None:
        name, attempt = message["container"], message["attempt"]
        current = next((c for c in self.containers if c.name == name and c.state["status"] != "exited"), None)
        if current and current.attempt == attempt:  # repeated by the successor of an agent that was killed
            if current.state["status"] == "running":
                client.send({"ok": True})
            else:
                current.waiting.append(client)
            return
        if current or self.ending:
            raise Refusal("AlreadyRunning", f'container "{name}" is {"ending" if self.ending else "already running"}')
        container = Container(self, read_json(f"{self.directory}/containers/{name}/{attempt}.body.json"))
        container.waiting.append(client)
        self.containers.append(container)
        self.publish(container.state)
        container.start()

    def _stop(self, client: Client, message: Obj, fds: list[int]) -> None:
        number = signal_number(str(message.get("signal", "SIGTERM")))
        name, grace = message["container"], float(message["grace"])
        if not -LONGEST_GRACE <= grace <= LONGEST_GRACE:  # rejects NaN, too
            raise Refusal("BadRequest", f"a grace of {grace} seconds")
        for container in self.containers:
            if container.name == name:
                container.stop(grace, number)
        client.send({"ok": True})

    def _tell_states(self, client: Client, message: Obj, fds: list[int]) -> None:
        states = [state for state in self.states.values() if state["status"] != "starting"]
        client.send({"ok": True, "states": states})

    def _watch(self, client: Client, message: Obj, fds: list[int]) -> None:
        self._tell_states(client, message, fds)
        self._watchers.append(client)
        client.on_close.append(lambda: self._watchers.remove(client))

    def _exec(self, client: Client, message: Obj, fds: list[int]) -> None:
        try:
            Execution(self._running(message), client, message, fds)
        except OSError as error:
            raise Refusal("StartError", f"cannot start the command: {describe(error)}") from None

    def _attach(self, client: Client, message: Obj, fds: list[int]) -> None:
        Attachment(self._running(message), client, message, fds)
        client.send({"ok": True})

    def _resize(self, client: Client, message: Obj, fds: list[int]) -> None:
        container = self._running(message)
        if container.master < 0:
            raise Refusal("NoTerminal", f'container "{container.name}" has no terminal')
        try:
            size = struct.pack("HHHH", message["height"], message["width"], 0, 0)
        except struct.error as error:
            raise Refusal("BadRequest", f"no size of a terminal: {error}") from None
        fcntl.ioctl(container.master, termios.TIOCSWINSZ, size)
        client.send({"ok": True})

    def _socket(self, client: Client, message: Obj, fds: list[int]) -> None:
        kind = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}[message["kind"]]
        made = socket.socket(socket.AF_INET, kind)
        client.send({"ok": True}, [made.fileno()])
        made.close()

    def _allow(self, client: Client, message: Obj, fds: list[int]) -> None:
        self._running(message)
        self._tickets.give(message["ticket"], message, time.monotonic())
        client.send({"ok": True})

    def _usage(self, client: Client, message: Obj, fds: list[int]) -> None:
        running = [container for container in self.containers if container.state["status"] == "running"]
        client.send({"ok": True, "usage": {container.name: container.usage() for container in running}})

    def _namespaces(self, client: Client, message: Obj, fds: list[int]) -> None:
        if not self.sandbox.network:
            raise Refusal("NoNetwork", "this pod has no network of its own")
        client.send({"ok": True}, self.sandbox.network)

    def _end(self, client: Client, message: Obj, fds: list[int]) -> None:
        client.send({"ok": True})
        self._end_all()

    def _end_all(self) -> None:
        self.ending = True
        for container in list(self.containers):
            container.stop(0, signal.SIGKILL)
            container.give_up()
        self.loop.done = not self.containers

    def close(self) -> None:
        for listener in self._listeners:
            listener.close()


LOST = {"status": "exited", "exit_code": 137, "signal": 9, "reason": "Error", "pid": 0}
"""The final state of a container whose shim died: it was killed with it."""


def left_states(directory: str) -> list[Obj]:
    """The newest state on disk of each container."""
    found: dict[str, Obj] = {}
    try:
        names = os.listdir(f"{directory}/containers")
    except OSError:
        return []
    for name in names:
        for entry in os.listdir(f"{directory}/containers/{name}"):
            attempt = entry[: -len(".json")]
            if entry.endswith(".json") and attempt.isdigit():
                with Ignoring(ValueError):  # truncated by a crash of the machine
                    state = read_json(f"{directory}/containers/{name}/{entry}")
                    if name not in found or found[name]["attempt"] < state["attempt"]:
                        found[name] = state
    return list(found.values())


def detach(directory: str) -> int:
    """Leave the caller's session and terminal; returns the descriptor on which the caller reads the result of the
    start."""
    if os.fork():
        os._exit(0)
    os.setsid()
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    ready = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 10)
    log = os.open(f"{directory}/shim.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    null = os.open("/dev/null", os.O_RDONLY)
    for fd, place in ((null, 0), (log, 1), (log, 2)):
        os.dup2(fd, place)
    close_others([ready])
    prctl(PR_SET_NAME, b"tide-shim")
    os.chdir("/")
    os.umask(0o022)
    return ready


def lock(directory: str) -> None:
    """One shim per pod, even when an agent was killed while it started a shim and its successor starts another."""
    fd = os.open(f"{directory}/shim.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Refusal("AlreadyRunning", "the pod has a shim already") from None


def main(directory: str) -> None:
    ready = detach(directory)
    try:
        lock(directory)
        shim = Shim(directory)
        shim.open()
    except Refusal as refusal:
        report(ready, error=str(refusal), reason=refusal.reason)
        return
    except (OSError, KeyError, ValueError) as error:
        report(ready, error=f"cannot start the pod's shim: {error}", reason="SandboxError")
        return
    report(ready, ok=True, pid=os.getpid())
    os.close(ready)
    shim.loop.run()
    shim.close()


if __name__ == "__main__":
    main(sys.argv[1])
