# SPDX-License-Identifier: Apache-2.0
"""Terminals of one container: they lie in a devpts of its own, where no other pod can open them.

The shim mounts it in its own mount namespace and binds it into the container, so that it can create terminals there
without following a path that programs of the container might have changed.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import termios

from springtide.local.runtime.shim.kernel import MNT_DETACH, MS_NOEXEC, MS_NOSUID, Ignoring, call_kernel, mount

OPTIONS = "newinstance,ptmxmode=0666,mode=0620"
GROUPS = (",gid=5", "")
"""The group `tty`, and none where that group is not mapped, as in an ordinary user's namespace."""
NAME_LENGTH = 64


class Terminals:
    def __init__(self, place: str) -> None:
        """OSError where the kernel refuses such a mount."""
        self.place = place
        with Ignoring(FileExistsError):  # left by a start that was interrupted
            os.mkdir(place, 0o700)
        for group in GROUPS:
            try:
                mount("devpts", place, "devpts", MS_NOSUID | MS_NOEXEC, OPTIONS + group)
                return
            except OSError:
                if group == GROUPS[-1]:
                    os.rmdir(place)
                    raise

    def open(self) -> tuple[int, int]:
        """Master and slave of a new terminal."""
        flags = os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC
        master = os.open(f"{self.place}/ptmx", flags)
        try:
            call_kernel("cannot unlock a terminal", "unlockpt", master)
            name = ctypes.create_string_buffer(NAME_LENGTH)
            call_kernel("cannot name a terminal", "ptsname_r", master, name, ctypes.c_size_t(NAME_LENGTH))
            return master, os.open(f"{self.place}/{os.path.basename(name.value.decode())}", flags)
        except OSError:
            os.close(master)
            raise

    def remove(self) -> None:
        with Ignoring(OSError):  # it disappears with the shim's mount namespace and the pod's directory
            call_kernel("cannot take away the terminals", "umount2", os.fsencode(self.place), MNT_DETACH)
            os.rmdir(self.place)


def copy_size(source: int, target: int) -> None:
    with Ignoring(OSError):  # the source is no terminal
        fcntl.ioctl(target, termios.TIOCSWINSZ, fcntl.ioctl(source, termios.TIOCGWINSZ, bytes(8)))
