# SPDX-License-Identifier: Apache-2.0
"""Both ends of the streams of a process in a pod: the process's go to the shim, ours stay with the agent."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
from dataclasses import dataclass

from springtide.local.kubelet.serving.descriptors import Descriptor
from springtide.local.streams.channels import Wanted


@dataclass(slots=True)
class Ends:
    """Streams that were not requested are None on both sides. With a terminal, `stdin` and `stdout` are the same."""

    stdin: Descriptor | None
    stdout: Descriptor | None
    stderr: Descriptor | None
    theirs: tuple[int | None, int | None, int | None]

    def hand_over(self) -> None:
        """Close the process's ends: the shim has copies, and ours must not keep them open."""
        for number in {number for number in self.theirs if number is not None}:
            os.close(number)
        self.theirs = (None, None, None)

    def leave(self) -> None:
        """Disconnect without disturbing the process: its input ends, its output is read and dropped."""
        if self.stdin is not None and self.stdin is not self.stdout:
            self.stdin.close()
        for output in (self.stdout, self.stderr):
            if output is not None:
                output.drain()

    def close(self) -> None:
        self.hand_over()
        for end in (self.stdin, self.stdout, self.stderr):
            if end is not None:
                end.close()


def pipes(wanted: Wanted, *, lasting: bool = False) -> Ends:
    """Create pipes; with `lasting` the process may keep writing into them when the agent is killed."""
    stdin = os.pipe() if wanted.stdin else None
    stdout = os.pipe() if wanted.stdout else None
    stderr = os.pipe() if wanted.stderr else None
    written = _lasting if lasting else int
    return Ends(
        Descriptor(stdin[1]) if stdin else None,
        Descriptor(stdout[0]) if stdout else None,
        Descriptor(stderr[0]) if stderr else None,
        (stdin[0] if stdin else None, written(stdout[1]) if stdout else None, written(stderr[1]) if stderr else None),
    )


def _lasting(number: int) -> int:
    """Reopen the end of a pipe for both directions: its holder is a reader as well, and gets no SIGPIPE.

    Container runtimes open their pipes like this. Where the system cannot, a process gets SIGPIPE when the agent is
    killed.
    """
    try:
        opened = os.open(f"/proc/self/fd/{number}", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return number
    os.close(number)
    return opened


def terminal() -> Ends:
    """A terminal of the machine, for a container without terminals of its own."""
    ours, theirs = pty.openpty()
    end = Descriptor(ours)
    return Ends(end, end, None, (theirs, theirs, theirs))


def master(number: int) -> Ends:
    """Our end of a terminal that the shim has created."""
    end = Descriptor(number)
    return Ends(end, end, None, (None, None, None))


def set_size(end: Descriptor, width: int, height: int) -> None:
    fcntl.ioctl(end.number, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
