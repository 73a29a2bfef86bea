# SPDX-License-Identifier: Apache-2.0
"""PID 1 of a container: starts the program, forwards signals, reaps children, and kills the rest when the program
exits."""

from __future__ import annotations

import os
import select
import time

from springtide.local.runtime.shim.kernel import (
    CLONE_NEWNS,
    PR_SET_CHILD_SUBREAPER,
    PR_SET_NAME,
    PR_SET_PDEATHSIG,
    Ignoring,
    Refusal,
    describe,
    own_user_namespace,
    prctl,
    unshare,
)
from springtide.local.runtime.shim.loop import Loop
from springtide.local.runtime.shim.program import NOT_FOUND, STANDARD_PATH, become, enter_directory, execute, report

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from springtide.local.runtime.shim.root import Root

    Obj = dict[str, Any]
else:
    import _signal as signal


END_ALL = signal.SIGABRT
"""The signal that makes an init without a PID namespace of its own kill all its descendants."""
NOT_FORWARDED = frozenset(
    getattr(signal, f"SIG{name}")
    for name in ["ABRT", "BUS", "CHLD", "FPE", "ILL", "KILL", "SEGV", "STOP", "SYS", "TRAP", "TSTP", "TTIN", "TTOU"]
)
FORWARDED = tuple(sorted(set(signal.valid_signals()) - NOT_FORWARDED))


def signal_number(name: str) -> int:
    """The number of a signal as manifests write it, `SIGTERM` or `SIGRTMIN+3`."""
    sign = "-" if "-" in name else "+"
    base, _, offset = name.partition(sign)
    known = base.startswith("SIG") and not base.startswith("SIG_") and (offset or "0").isdigit()
    number = int(getattr(signal, base, 0)) + int(sign + (offset or "0")) if known else 0
    if number not in signal.valid_signals():
        raise Refusal("BadRequest", f"unknown signal {name}")
    return number


class Init:
    """The first process of a container: builds its root, starts the program, reaps, forwards signals, reports the exit
    code.

    Where it is PID 1 of a namespace the kernel kills the rest with it. Otherwise (shared PID namespace, no namespaces)
    it is a child subreaper and kills until it has no child left.
    """

    def __init__(self, body: Obj, stdio: Sequence[int], report_fd: int, go_fd: int) -> None:
        self.body = body
        self.stdio = stdio
        self.report_fd = report_fd
        self.go_fd = go_fd
        self.root: Root | None = None
        self.user: tuple[int, int] | None = None
        """The ordinary user's own ids, to be restored inside the container."""
        self.owns_processes = True

    def run(self) -> NoReturn:
        try:
            os.umask(0o022)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD, END_ALL, *FORWARDED])
            prctl(PR_SET_NAME, b"tide-init")
            self._settle()
            program = self._start()
        except Refusal as refusal:
            report(self.report_fd, error=str(refusal))
            os._exit(128)
        except OSError as error:
            report(self.report_fd, error=describe(error))
            os._exit(128)
        for fd in set(self.stdio):
            os.close(fd)  # a reader of the program's output must see its end
        report(self.report_fd, started=time.time(), fresh_proc=bool(self.root and self.root.fresh_proc))
        code, number = self._supervise(program)
        if not self.owns_processes:
            kill_children()
        report(self.report_fd, code=code, signal=number)
        os._exit(code)

    def _settle(self) -> None:
        if self.root:
            unshare(CLONE_NEWNS)
            path = self.body["env"].get("PATH", STANDARD_PATH)
            mounts, read_only = self.body.get("mounts") or (), bool(self.body.get("read_only_root"))
            self.root.build(mounts, read_only, path, self.body.get("user"), self.body.get("hidden") or ())
            if not self.owns_processes and not self.root.fresh_proc:  # PIDs in a foreign /proc would be mistaken
                raise Refusal("StartError", "containers cannot share their processes: a fresh /proc is refused here")
        enter_directory(self.body["cwd"])
        if self.user:
            own_user_namespace(self.user)
        if not self.owns_processes:
            prctl(PR_SET_CHILD_SUBREAPER, 1)
        # Only now is the shim the parent; set earlier, the signal would be sent when the intermediate process exits.
        if not os.read(self.go_fd, 1):
            os._exit(128)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL if self.owns_processes else END_ALL)
        if hung_up(self.go_fd):  # the shim died before PR_SET_PDEATHSIG was set
            os._exit(128)

    def _start(self) -> int:
        failed, failing = os.pipe()
        program = Loop.fork(lambda: self._program(failing))
        os.close(failing)
        with open(failed, "rb") as file:
            text = file.read()  # ends when the program is executed, by close-on-exec
        if text:
            raise Refusal("StartError", text.decode())
        return program

    def _program(self, failing: int) -> None:
        try:
            become(self.body, bool(self.body.get("tty")), self.stdio)
            if not self.owns_processes:
                prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            execute(self.body["argv"], self.body["env"])
        except Refusal as refusal:
            cure = self.body.get("cure") if refusal.reason == NOT_FOUND else None
            os.write(failing, (f"{refusal}: {cure}" if cure else str(refusal)).encode())
        except OSError as error:
            os.write(failing, describe(error).encode())
        os._exit(128)

    def _supervise(self, program: int) -> tuple[int, int]:
        """Wait for the program's end; returns its exit code and signal."""
        while True:
            number = signal.sigwait([signal.SIGCHLD, END_ALL, *FORWARDED])
            if number == signal.SIGCHLD:
                ended = _reap_until(program)
                if ended:
                    return ended
            elif number == END_ALL:
                os.kill(program, signal.SIGKILL)
            else:
                os.kill(program, number)


def _reap_until(program: int) -> tuple[int, int] | None:
    """Reap all children that have exited; returns the program's exit code and signal when it was among them."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if not pid:
            return None
        if pid == program:
            return exit_code(status)


def hung_up(fd: int) -> bool:
    """Whether the other end of a pipe is closed."""
    waiting = select.poll()
    waiting.register(fd, 0)
    return bool(waiting.poll(0))


def exit_code(status: int) -> tuple[int, int]:
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return (128 + number, number) if number else (os.WEXITSTATUS(status), 0)


def kill_children() -> None:
    """Kill until no child is left: children of killed processes become children of the subreaper and are killed
    next."""
    while True:
        for pid in children_of(os.getpid()):
            with Ignoring(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def children_of(parent: int) -> list[int]:
    return [pid for pid, other in parents("/proc").items() if other == parent]


def parents(proc: str) -> dict[int, int]:
    """Every process that a /proc shows, with its parent."""
    found = {}
    try:
        names = [name for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return {}
    for name in names:
        try:
            with open(f"{proc}/{name}/stat", "rb") as file:
                found[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            continue  # exited meanwhile
    return found


def pause(go_fd: int) -> NoReturn:
    """PID 1 of a PID namespace that all containers of a pod share: reaps orphans until the shim is gone."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    prctl(PR_SET_NAME, b"tide-pause")
    if os.read(go_fd, 1):
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        while not hung_up(go_fd):
            signal.sigwait([signal.SIGCHLD])
            _reap_until(0)
    os._exit(0)
