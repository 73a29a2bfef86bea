# SPDX-License-Identifier: Apache-2.0
"""Where shims are born: a process that has loaded all that a shim needs, and makes each by forking itself.

    node agent ──socket──► nursery ─► go-between ─► shim

An interpreter needs longer to start and to load a shim than everything else that a pod needs to run; a fork has it all
at once, and shares the memory. Each request is a line with a pod's directory, and beside it the pipe on which the shim
answers. The nursery holds nothing and ends with its agent; the shims do not. Standard library only, like the shim.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource  # noqa: F401 - loaded by the first `os.wait4`, in every shim anew if it is not here
import sys

from springtide.local.runtime.shim import init, kernel, loop, messages, process, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
else:
    import _socket as socket

ROOM = " " * 4096
"""What the nursery is started with in the place of a directory, so that any directory fits there."""


def main(placeholder: str) -> None:
    requests = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, 0)
    place = last_argument()
    gc.collect()
    gc.freeze()  # what the collector does not look at stays shared
    text, pipes = b"", list[int]()
    while True:
        data, ancillary, _, _ = requests.recvmsg(65536, socket.CMSG_SPACE(64))
        if not data:
            return
        pipes += messages.unpack_fds(ancillary)
        *lines, text = (text + data).split(b"\n")
        for line in lines:
            pipe = pipes.pop(0)
            try:
                make(os.fsdecode(line), pipe, place)
            finally:
                os.close(pipe)


def make(directory: str, pipe: int, place: int) -> None:
    if init.hung_up(pipe):  # the agent has died, and who comes after it knows nothing of this pod yet
        return

    def work() -> None:
        for fd in (1, 2):
            os.dup2(pipe, fd)
        if place:
            # For people, and for those who look for shims whose directories are gone.
            ctypes.memmove(place, os.fsencode(directory).ljust(len(ROOM), b"\0"), len(ROOM))
        process.main(directory)

    try:
        os.waitpid(loop.Loop.fork(work), 0)  # the go-between, which ends when it has left the shim to itself
    except OSError as error:
        program.report(
            pipe, error=f"cannot start a process for the pod: {kernel.describe(error)}", reason="SandboxError"
        )


def last_argument() -> int:
    """Where the last word of this process's command line lies in memory; 0 where that cannot be told."""
    if sys.platform != "linux":
        return 0
    with open("/proc/self/stat", "rb") as file:
        end = int(file.read().rpartition(b")")[2].split()[46])
    return end - len(ROOM) - 1
