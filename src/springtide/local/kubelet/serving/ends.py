# SPDX-License-Identifier: Apache-2.0
"""Both ends of what a process in a pod reads and writes: its own go to the shim, ours stay with the agent."""

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
    """Streams that were not asked for are None on both sides. With a terminal, `stdin` and `stdout` are the same."""

    stdin: Descriptor | None
    stdout: Descriptor | None
    stderr: Descriptor | None
    theirs: tuple[int | None, int | None, int | None]

    def hand_over(self) -> None:
        """The shim has copies of the other ends: ours must not keep them open."""
        for number in {number for number in self.theirs if number is not None}:
            os.close(number)
        self.theirs = (None, None, None)

    def leave(self) -> None:
        """Nobody is at this end any more; whoever still writes must not notice."""
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
    """`lasting`: whoever writes into them may go on doing so when this process is killed."""
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
    """The end of a pipe, opened for both directions: its holder is a reader himself, and never writes in vain.

    Container runtimes open their pipes like this. Where the system cannot, a killed agent is noticed with SIGPIPE.
    """
    try:
        opened = os.open(f"/proc/self/fd/{number}", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return number
    os.close(number)
    return opened


def terminal() -> Ends:
    """One of the machine, for a container that has no terminals of its own."""
    ours, theirs = pty.openpty()
    end = Descriptor(ours)
    return Ends(end, end, None, (theirs, theirs, theirs))


def master(number: int) -> Ends:
    """Of a terminal that the shim has made."""
    end = Descriptor(number)
    return Ends(end, end, None, (None, None, None))


def set_size(end: Descriptor, width: int, height: int) -> None:
    fcntl.ioctl(end.number, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
