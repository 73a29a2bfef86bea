# SPDX-License-Identifier: Apache-2.0
"""One container: its streams, state file, limits and attachments, and its stop: signal, grace period, SIGKILL."""

from __future__ import annotations

import os
import select
import time

from springtide.local.runtime.shim.init import END_ALL, Init, parents
from springtide.local.runtime.shim.json_lines import decode, write_json
from springtide.local.runtime.shim.kernel import (
    CLONE_NEWPID,
    Ignoring,
    Refusal,
    close_others,
    complain,
    describe,
    setns,
    unshare,
)
from springtide.local.runtime.shim.logs import Log
from springtide.local.runtime.shim.loop import Loop
from springtide.local.runtime.shim.memory import (
    GROUP_NOTE,
    MemoryGroup,
    descendants,
    own_group,
    processor_time,
    proportional,
    resident,
)
from springtide.local.runtime.shim.messages import MAX_BACKLOG
from springtide.local.runtime.shim.program import report
from springtide.local.runtime.shim.root import Root
from springtide.local.runtime.shim.terminals import Terminals

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any

    from springtide.local.runtime.shim.loop import Timer
    from springtide.local.runtime.shim.messages import Client
    from springtide.local.runtime.shim.process import Shim

    Obj = dict[str, Any]
else:
    import _signal as signal


DRAIN = 2.0
"""Seconds to wait for more output after the end, should a process outside the container hold the stream open."""
LAST_WORDS = 10.0
"""Seconds that an attached client has to read the remaining output."""
READ_SIZE = 1 << 16


class Container:
    """One attempt to run a container, from the shim's side: streams, log, state and end."""

    def __init__(self, shim: Shim, body: Obj) -> None:
        self.shim = shim
        self.loop = shim.loop
        self.body = body
        self.name: str = body["name"]
        self.attempt: int = body["attempt"]
        self.waiting: list[Client] = []
        """Clients that requested the start and wait for its result."""
        self.folder = f"{shim.directory}/containers/{self.name}"
        self.state: Obj = {"name": self.name, "attempt": self.attempt, "status": "starting"}
        self.pid = 0
        self.alive = True
        """True until the end is written to the state file."""
        self.attachments: list[Attachment] = []
        self.execution_time = 0.0
        self.terminals: Terminals | None = None
        """The container's own devpts; without it its terminals are the machine's, where every pod of the same user can
        open them."""
        self.master = -1
        self.stdin = -1
        self.fresh_proc = False
        self.group: MemoryGroup | None = None
        self._end: tuple[int, int] | None = None
        self._reaped = False
        self._out_of_memory = False
        self._streams: dict[int, str] = {}
        self._stop_wanted: tuple[float, int] | None = None
        self._killer: Timer | None = None
        self._kill_due = 0.0
        self._report = self._go = -1
        self._report_text = b""
        self._closing: list[int] = []
        """Our ends of everything but the output streams."""
        self.log = Log(body["log"])

    # Start

    def start(self) -> None:
        try:
            self._start()
        except OSError as error:
            self._fail(f"cannot start the container: {describe(error)}")

    def _start(self) -> None:
        if self.body.get("memory_limit"):
            place = (own_group(), f"tide-{self.shim.uid}-{self.name}")
            write_json(f"{self.folder}/{GROUP_NOTE}", place)
            self.group = MemoryGroup.make(*place, self.body["memory_limit"])
        if self.shim.isolated:
            self._add_terminals()
        stdio = self._make_streams()
        self._report, reporting = os.pipe()
        waiting, self._go = os.pipe()
        self._closing += [self._report, self._go]
        os.set_blocking(self._report, False)
        try:
            init = Init(self.body, stdio, reporting, waiting)
            child = self.loop.fork(lambda: self._child(init))
        finally:
            for fd in {*stdio, reporting, waiting}:
                os.close(fd)
        self.loop.watch(self._report, select.POLLIN, lambda _: self.read_report())
        if self.shim.isolated:
            self.loop.children[child] = self._between_ended
        else:
            self.pid = child
            self._between_ended(0, None)
        self._watch_streams()

    def _add_terminals(self) -> None:
        try:
            self.terminals = Terminals(f"{self.folder}/terminals.{self.attempt}")
        except OSError as error:
            complain(f"container {self.name} shares the machine's terminals: {describe(error)}")

    def _make_streams(self) -> list[int]:
        """Create the program's descriptors 0, 1 and 2; our ends are recorded."""
        if self.body.get("tty"):
            self.master, slave = self.terminals.open() if self.terminals else os.openpty()
            self._closing.append(self.master)
            os.set_blocking(self.master, False)
            self._streams[self.master] = "stdout"
            self.stdin = self.master if self.body.get("stdin") else -1
            return [slave, slave, slave]
        if self.body.get("stdin"):
            given, self.stdin = os.pipe()
            os.set_blocking(self.stdin, False)
            self._closing.append(self.stdin)
        else:
            given = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        stdio = [given]
        for stream in ("stdout", "stderr"):
            reading, writing = os.pipe()
            os.set_blocking(reading, False)
            self._streams[reading] = stream
            stdio.append(writing)
        return stdio

    def _child(self, init: Init) -> None:
        """In the intermediate process: enter a PID namespace, fork init, which the shim then inherits, and exit."""
        shim = self.shim
        close_others([*init.stdio, init.report_fd, init.go_fd, *shim.kept_fds()])
        try:
            if self.group:
                self.group.join()
            if not shim.isolated:
                init.owns_processes = False
                init.run()
            if shim.shared_pids >= 0:
                setns(shim.shared_pids, CLONE_NEWPID)
                init.owns_processes = False
            else:
                unshare(CLONE_NEWPID)
            init.user = shim.user
            terminals = self.terminals.place if self.terminals else ""
            init.root = Root(f"{self.folder}/root/{self.attempt}", shim.user is None, shim.shm, terminals)
            pid = Loop.fork(init.run)
        except OSError as error:
            report(init.report_fd, error=describe(error))
            os._exit(0)
        report(init.report_fd, pid=pid)
        os._exit(0)

    def _between_ended(self, status: int, usage: Any) -> None:
        self.read_report()
        if self.pid and self.alive:
            with Ignoring(BrokenPipeError):  # init is dead already; its exit will be reported
                os.write(self._go, b".")
        elif self.alive and not self.state.get("finished"):
            self._fail("cannot start the container: it was killed before it began")

    def read_report(self) -> None:
        if self._report < 0:
            return
        try:
            data = os.read(self._report, READ_SIZE)
        except BlockingIOError:
            return
        if not data:
            self.loop.forget(self._report)
            return
        *lines, self._report_text = (self._report_text + data).split(b"\n")
        for line in lines:
            self._take(decode(line))

    def _take(self, facts: Obj) -> None:
        if "pid" in facts:
            self.pid = facts["pid"]
        elif "error" in facts:
            self._fail(facts["error"])
        elif "started" in facts:
            self.fresh_proc = facts["fresh_proc"]
            self._change(status="running", pid=self.pid, started=facts["started"])
            self._answer("")
            self.shim.sample_memory()
            if self._stop_wanted:
                self.stop(*self._stop_wanted)
        else:
            self._end = (facts["code"], facts["signal"])

    def _fail(self, message: str) -> None:
        self._change(status="exited", finished=time.time(), exit_code=128, reason="StartError", message=message)
        self._answer(message)
        if not self.pid:
            self._close()

    def _answer(self, error: str) -> None:
        waiting, self.waiting = self.waiting, []
        for client in waiting:
            if error:
                client.refuse("StartError", error)
            else:
                client.send({"ok": True})

    # Streams

    def _watch_streams(self) -> None:
        def watch(fd: int) -> None:
            self.loop.watch(fd, select.POLLIN, lambda _: self._read(fd))

        for fd in self._streams:
            watch(fd)

    def _read(self, fd: int) -> None:
        try:
            data = os.read(fd, READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""  # how a terminal reports that its other end is closed everywhere
        stream = self._streams[fd]
        if data:
            for attachment in list(self.attachments):
                attachment.show(stream, data)
        else:
            self.loop.forget(fd)
            del self._streams[fd]
            if fd != self.master:
                os.close(fd)
        if not self.log.feed(stream, data):
            self._wait_for_disk()
        if not data:
            self._maybe_finish()

    def _wait_for_disk(self) -> None:
        """Stop reading: the program blocks on its pipe, and no line is lost."""
        for fd in self._streams:
            self.loop.forget(fd)
        self._change(trouble=self.log.trouble)
        self.loop.after(1.0, self._try_disk)

    def _try_disk(self) -> None:
        if not self.log.flush():
            self.loop.after(1.0, self._try_disk)
            return
        self._change(trouble="")
        self._watch_streams()
        if self._reaped:
            self.loop.after(DRAIN, self._drained)
        self._maybe_finish()

    def close_stdin(self) -> None:
        if self.stdin >= 0 and self.stdin != self.master:
            self._closing.remove(self.stdin)
            os.close(self.stdin)
        self.stdin = -1

    # Stop and end

    def stop(self, grace: float, number: int) -> None:
        """Send the signal, and SIGKILL when the grace period is over."""
        if self._reaped:
            return
        if self.state["status"] == "starting":  # no program yet that could handle a signal
            self._stop_wanted = (grace, number)
            if grace <= 0:
                self.kill()
            return
        if grace > 0:
            os.kill(self.pid, number)
        due = time.monotonic() + grace
        if self._killer and self._kill_due <= due:
            return
        self.loop.cancel(self._killer)
        self._kill_due = due
        self._killer = self.loop.after(grace, self.kill)

    def kill(self) -> None:
        """Kill everything in the container now."""
        if self.pid and not self._reaped:
            os.kill(self.pid, signal.SIGKILL if self.shim.owns_processes else END_ALL)

    def kill_for_memory(self) -> None:
        self._out_of_memory = True
        self.kill()

    def ended(self, status: int) -> None:
        """Init has exited, and with it every process of the container."""
        self.read_report()
        self._reaped = True
        self._end = self._end or (137, 9)
        self.state["finished"] = self.state.get("finished") or time.time()
        self.loop.cancel(self._killer)
        if not self.shim.owns_processes:  # otherwise the kernel has killed them with init
            commands = self.executions()
            for pid in (*commands, *descendants(parents("/proc"), commands)):  # a shell must not outlive its command
                with Ignoring(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if self._streams or self.log.trouble:
            self.loop.after(DRAIN, self._drained)
        self._maybe_finish()

    def _maybe_finish(self) -> None:
        if self._reaped and not self._streams and not self.log.trouble:
            self._publish_end()
            self._close()

    def _drained(self) -> None:
        """A process outside holds the output open, or the disk is full and output in the pipes waits for it."""
        self._publish_end()
        if not self.log.trouble or self.shim.ending:
            self._close()

    def give_up(self) -> None:
        """Stop waiting for the disk: the pod is being removed, maybe because it has filled the disk."""
        if self._reaped and self.log.trouble:
            self._drained()

    def _publish_end(self) -> None:
        if self.state["status"] == "exited":
            return
        code, number = self._end or (137, 9)
        reason = "Completed" if code == 0 else "Error"
        if self._out_of_memory or (self.group and code and self.group.killed()):
            code, number, reason = 137, 9, "OOMKilled"
        was_running = self.state["status"] == "running"
        self._change(status="exited", exit_code=code, signal=number, reason=reason)
        if not was_running:
            self._answer("it was stopped before it began")

    def _close(self) -> None:
        if not self.alive:
            return
        self.alive = False
        for attachment in list(self.attachments):
            attachment.end(self.state["exit_code"])
        for fd in {*self._closing, *self._streams}:
            self.loop.forget(fd)
            os.close(fd)
        self._streams.clear()
        self._report = self.stdin = self.master = -1
        self.log.close()
        if self.group:
            self.group.remove()
        if self.terminals:
            self.terminals.remove()
        self.shim.container_closed(self)

    def _change(self, **facts: Any) -> None:
        self.state.update(facts)
        self.shim.publish(self.state)

    # Usage

    def processes(self) -> tuple[str, set[int]]:
        """A /proc and the PIDs of the container's processes in it, without init."""
        own = f"/proc/{self.pid}/root/proc"
        if self.fresh_proc and self.shim.owns_processes:
            return own, set(parents(own)) - {1}
        if self.fresh_proc:
            tree = parents(own)
            inner = [inner_pid(pid) for pid in (self.pid, *self.executions())]
            return own, descendants(tree, inner) - {inner[0]}
        return "/proc", descendants(parents("/proc"), [self.pid, *self.executions()]) - {self.pid}

    def executions(self) -> list[int]:
        return [pid for pid, execution in self.shim.executions.items() if execution.container is self]

    def usage(self) -> Obj:
        proc, pids = self.processes()
        cpu = processor_time(proc, pids) + processor_time("/proc", [self.pid]) + self.execution_time
        return {"cpu": cpu, "memory": resident(proc, pids)}

    def check_memory(self) -> None:
        limit = self.body["memory_limit"]
        proc, pids = self.processes()
        if resident(proc, pids) > limit and proportional(proc, pids) > limit:
            self.kill_for_memory()


def inner_pid(pid: int) -> int:
    """The PID of a process in its own PID namespace."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            return next(int(line.split()[-1]) for line in file if line.startswith(b"NSpid:"))
    except (OSError, StopIteration):
        return 0


class Attachment:
    """A client that reads a container's output and may write to its stdin."""

    def __init__(self, container: Container, client: Client, message: Obj, fds: list[int]) -> None:
        self.container = container
        self.client = client
        self.loop = container.loop
        wanted = [name for name in ("stdin", "stdout", "stderr") if message.get(name)]
        if len(fds) != len(wanted):
            raise Refusal("BadRequest", "as many descriptors are needed as streams")
        self._fds = {name: os.dup(fds[number]) for number, name in enumerate(wanted)}
        self._pending = b""
        self._code: int | None = None
        self._outgoing: dict[str, bytes] = {name: b"" for name in ("stdout", "stderr") if name in self._fds}
        for fd in self._fds.values():
            os.set_blocking(fd, False)
        if "stdin" in self._fds and container.stdin >= 0:
            self.loop.watch(self._fds["stdin"], select.POLLIN, self._typed)
        container.attachments.append(self)
        client.on_close.append(self.close)

    def show(self, stream: str, data: bytes) -> None:
        if stream not in self._outgoing:
            return
        self._outgoing[stream] += data
        self._push(stream)
        if len(self._outgoing.get(stream, b"")) > MAX_BACKLOG:  # a client that does not read must not block the program
            self.close()

    def _push(self, stream: str) -> None:
        fd = self._fds[stream]
        try:
            self._outgoing[stream] = self._outgoing[stream][os.write(fd, self._outgoing[stream]) :]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        if self._outgoing[stream]:
            self.loop.watch(fd, select.POLLOUT, lambda _: self._push(stream))
        else:
            self.loop.forget(fd)
            self._maybe_end()

    def _typed(self, _: int) -> None:
        try:
            data = os.read(self._fds["stdin"], 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._pending += data
            self._pass_on()
            return
        self.loop.forget(self._fds["stdin"])
        if self.container.body.get("stdin_once"):
            self.container.close_stdin()

    def _pass_on(self) -> None:
        target = self.container.stdin
        if target < 0 or self not in self.container.attachments:
            return
        try:
            self._pending = self._pending[os.write(target, self._pending) :]
        except BlockingIOError:
            pass
        except OSError:
            self._pending = b""
        if self._pending:  # the program is slow: read no more input until it has read this
            self.loop.forget(self._fds["stdin"])
            self.loop.after(0.02, self._pass_on)
        else:
            self.loop.watch(self._fds["stdin"], select.POLLIN, self._typed)

    def end(self, code: int) -> None:
        """The container has ended; its remaining output is still delivered."""
        self._code = code
        self.loop.after(LAST_WORDS, self.close)
        self._maybe_end()

    def _maybe_end(self) -> None:
        if self._code is not None and not any(self._outgoing.values()):
            self.client.send({"exited": self._code})
            self.close()

    def close(self) -> None:
        if self not in self.container.attachments:
            return
        self.container.attachments.remove(self)
        for fd in self._fds.values():
            self.loop.forget(fd)
            os.close(fd)
        if "stdin" in self._fds and self.container.body.get("stdin_once"):
            self.container.close_stdin()
