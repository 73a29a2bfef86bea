# SPDX-License-Identifier: Apache-2.0
"""The shim's event loop: readable and writable descriptors, exited children and timers."""

from __future__ import annotations

import os
import select
import sys
import time

from springtide.local.runtime.shim.kernel import Ignoring

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import Any
else:
    import _signal as signal


class Timer:
    def __init__(self, due: float, act: Callable[[], None]) -> None:
        self.due = due
        self.act = act


class Loop:
    """Descriptors, timers and children: all events that a shim waits for."""

    def __init__(self) -> None:
        self.done = False
        self.children: dict[int, Callable[[int, Any], None]] = {}
        self.on_orphan: Callable[[int, int, Any], None] = lambda pid, status, usage: None
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._timers: list[Timer] = []
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.watch(self._woken, select.POLLIN, self._reap)

    def watch(self, fd: int, events: int, act: Callable[[int], None]) -> None:
        self._handlers[fd] = act
        self._poll.register(fd, events)

    def forget(self, fd: int) -> None:
        if self._handlers.pop(fd, None):
            self._poll.unregister(fd)

    def after(self, seconds: float, act: Callable[[], None]) -> Timer:
        timer = Timer(time.monotonic() + seconds, act)
        self._timers.append(timer)
        return timer

    def cancel(self, timer: Timer | None) -> None:
        if timer in self._timers:
            self._timers.remove(timer)

    def run(self) -> None:
        while not self.done:
            soonest = min((timer.due for timer in self._timers), default=None)
            wait = None if soonest is None else max(0.0, soonest - time.monotonic()) * 1000
            for fd, events in self._poll.poll(wait):
                if fd in self._handlers:  # an earlier handler may have closed it
                    self._handlers[fd](events)
            now = time.monotonic()
            for timer in [timer for timer in self._timers if timer.due <= now]:
                if timer in self._timers:  # an earlier timer may have cancelled it
                    self._timers.remove(timer)
                    timer.act()

    def _reap(self, _: int) -> None:
        with Ignoring(BlockingIOError):
            os.read(self._woken, 4096)
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            act = self.children.pop(pid, None)
            if act:
                act(status, usage)
            else:
                self.on_orphan(pid, status, usage)

    @staticmethod
    def fork(work: Callable[[], object]) -> int:
        """Run `work` in a child, which never returns from this call."""
        pid = os.fork()
        if pid:
            return pid
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            work()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            raise
        finally:
            os._exit(70)
