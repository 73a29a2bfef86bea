# SPDX-License-Identifier: Apache-2.0
"""Commands run in the namespaces of a container, besides its program."""

from __future__ import annotations

import os
import select

from springtide.local.runtime.shim.container import READ_SIZE
from springtide.local.runtime.shim.init import exit_code, hung_up
from springtide.local.runtime.shim.json_lines import decode
from springtide.local.runtime.shim.kernel import (
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    PR_SET_PDEATHSIG,
    Refusal,
    close_others,
    describe,
    prctl,
    setns,
)
from springtide.local.runtime.shim.loop import Loop
from springtide.local.runtime.shim.program import become, execute, report
from springtide.local.runtime.shim.terminals import copy_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from springtide.local.runtime.shim.container import Container
    from springtide.local.runtime.shim.messages import Client

    Obj = dict[str, Any]
else:
    import _signal as signal


class Execution:
    """A command run in a container. It belongs to the shim: closing the connection does not end it."""

    def __init__(self, container: Container, client: Client, message: Obj, fds: list[int]) -> None:
        self.container = container
        self.client = client
        self.loop = container.loop
        self.pid = 0
        self._argv = message["argv"]
        self._env = message.get("env")
        self._terminal = bool(message.get("tty"))
        self._status: int | None = None
        self._text = b""
        self._settled = self._failed = False
        if len(fds) not in (1, 3):
            raise Refusal("BadRequest", "a command needs three descriptors, or one for a terminal")
        self._masters = list[int]()
        """The master of the terminal created for the command, until it is sent to the client."""
        stdio, made = fds * 3 if len(fds) == 1 else fds, list[int]()
        self._report, reporting = os.pipe()
        os.set_blocking(self._report, False)
        try:
            if self._terminal and message.get("takes_terminal"):
                made = self._make_terminal(fds[0])
                stdio = made * 3 or stdio
            child = self.loop.fork(lambda: self._child(stdio, reporting))
        except OSError:
            os.close(self._report)
            self._close_masters()
            raise
        finally:
            for fd in (*made, reporting):
                os.close(fd)
        self.loop.watch(self._report, select.POLLIN, lambda _: self.read_report())
        container.shim.unsettled.append(self)
        if container.shim.isolated:
            self.loop.children[child] = lambda status, usage: self.read_report()
        else:
            self.pid = child
            container.shim.executions[child] = self

    def _make_terminal(self, like: int) -> list[int]:
        """Create a terminal in the container, where programs find it in /dev/pts; the client's terminal belongs to
        another one."""
        if not self.container.terminals:
            return []
        master, slave = self.container.terminals.open()
        self._masters.append(master)
        copy_size(like, master)
        return [slave]

    def _close_masters(self) -> None:
        for fd in self._masters:
            os.close(fd)
        self._masters.clear()

    def _child(self, stdio: Sequence[int], reporting: int) -> None:
        shim = self.container.shim
        close_others([*stdio, reporting])
        try:
            if self.container.group:
                self.container.group.join()
            if not shim.isolated:
                self._run(stdio, reporting, None)
            inside = f"/proc/{self.container.pid}/ns"
            user = os.open(f"{inside}/user", os.O_RDONLY) if shim.user else None
            spaces = [(os.open(f"{inside}/{name}", os.O_RDONLY), flag) for name, flag in INNER]
            for fd, flag in spaces:
                setns(fd, flag)
            pid = Loop.fork(lambda: self._run(stdio, reporting, user))
            report(reporting, pid=pid)
        except OSError as error:
            report(reporting, error=describe(error))
        os._exit(0)

    def _run(self, stdio: Sequence[int], reporting: int, user: int | None) -> NoReturn:
        body = self.container.body
        try:
            if user is not None:
                setns(user, CLONE_NEWUSER)
            os.chdir(body["cwd"])
            become(body, self._terminal, stdio)
            if not self.container.shim.isolated:
                prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                if hung_up(reporting):  # the shim is dead already
                    os._exit(126)
            execute(self._argv, body["env"] if self._env is None else self._env)
        except Refusal as refusal:
            report(reporting, error=str(refusal))
        except OSError as error:
            report(reporting, error=describe(error))
        os._exit(126)

    def read_report(self) -> None:
        """The pipe ends when the command is executed, or after the reason why it was not."""
        if self._settled:
            return
        try:
            while data := os.read(self._report, READ_SIZE):
                self._text += data
            at_end = True
        except BlockingIOError:
            at_end = False
        facts = [decode(line) for line in self._text.split(b"\n")[:-1]]
        for fact in facts:
            if "pid" in fact and not self.pid:
                self.pid = fact["pid"]
                self.container.shim.executions[self.pid] = self
        if at_end:
            self._settle([fact["error"] for fact in facts if "error" in fact])

    def _settle(self, errors: list[str]) -> None:
        self._settled = True
        self.container.shim.unsettled.remove(self)
        self.loop.forget(self._report)
        os.close(self._report)
        if errors:
            self._failed = True
            self.client.refuse("StartError", errors[0])
        else:
            self.client.send({"ok": True, "pid": self.pid}, self._masters)
            self._tell()
        self._close_masters()

    def ended(self, status: int, usage: Any) -> None:
        self.container.execution_time += usage.ru_utime + usage.ru_stime
        self._status = status
        self.read_report()
        if self._settled:
            self._tell()

    def _tell(self) -> None:
        if self._status is not None and not self._failed:
            self.client.send({"exited": exit_code(self._status)[0]})


INNER = (("mnt", CLONE_NEWNS), ("pid", CLONE_NEWPID))
