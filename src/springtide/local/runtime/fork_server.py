# SPDX-License-Identifier: Apache-2.0
"""The fork server: a process that has loaded all modules of a shim and creates each shim by forking itself.

    node agent ──socket──► fork server ─► intermediate process ─► shim

Starting an interpreter and loading a shim takes longer than everything else that a pod needs to run; a fork is ready at
once and shares the memory. Each request is a line with a pod's directory, accompanied by the pipe on which the shim
answers. The fork server keeps no state and exits with its agent; the shims do not. Standard library only, like the
shim.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource  # noqa: F401 - loaded by the first `os.wait4`, in every shim anew if it is not here
import sys

from springtide.local import control_sockets
from springtide.local.runtime.shim import init, kernel, loop, process, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
else:
    import _socket as socket

PLACEHOLDER = " " * 4096
"""Passed in place of a directory when the fork server starts, so that any directory fits into its command line
later."""


def main(placeholder: str) -> None:
    requests = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, 0)
    place = last_argument()
    gc.collect()
    gc.freeze()  # objects that the collector does not visit stay shared
    text, pipes = b"", list[int]()
    while True:
        data, ancillary, _, _ = requests.recvmsg(65536, socket.CMSG_SPACE(64))
        if not data:
            return
        pipes += control_sockets.unpack_fds(ancillary)
        *lines, text = (text + data).split(b"\n")
        for line in lines:
            pipe = pipes.pop(0)
            try:
                make(os.fsdecode(line), pipe, place)
            finally:
                os.close(pipe)


def make(directory: str, pipe: int, place: int) -> None:
    if init.hung_up(pipe):  # the agent has died, and its successor does not know this pod yet
        return

    def work() -> None:
        for fd in (1, 2):
            os.dup2(pipe, fd)
        if place:
            # Shown by `ps`, and read when shims are searched whose directories are gone.
            ctypes.memmove(place, os.fsencode(directory).ljust(len(PLACEHOLDER), b"\0"), len(PLACEHOLDER))
        process.main(directory)

    try:
        os.waitpid(loop.Loop.fork(work), 0)  # the intermediate process, which exits once it has forked the shim
    except OSError as error:
        program.report(
            pipe, error=f"cannot start a process for the pod: {kernel.describe(error)}", reason="SandboxError"
        )


def last_argument() -> int:
    """The address of the last argument of this process's command line; 0 where it cannot be found."""
    if sys.platform != "linux":
        return 0
    with open("/proc/self/stat", "rb") as file:
        end = int(file.read().rpartition(b")")[2].split()[46])
    return end - len(PLACEHOLDER) - 1
