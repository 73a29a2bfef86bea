# SPDX-License-Identifier: Apache-2.0
"""Creating and joining namespaces: the system calls that Python 3.11 does not have.

For single-threaded processes only: the kernel refuses to move a multi-threaded process into a user namespace. Standard
library only.
"""

from __future__ import annotations

import ctypes
import errno
import os

NEW_USER, NEW_NET = 0x10000000, 0x40000000
_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def join(descriptor: int, kind: int) -> None:
    _checked(_libc.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)), "setns")


def die_with_parent(signal: int) -> None:
    _checked(_libc.prctl(ctypes.c_int(_PDEATHSIG), ctypes.c_ulong(signal), 0, 0, 0), "prctl")


def new_network() -> bool:
    """Moves into a new network namespace; True if that required a new user namespace, as for ordinary users."""
    try:
        unshare(NEW_NET)
    except OSError as problem:
        if problem.errno != errno.EPERM:
            raise
        user, group = os.getuid(), os.getgid()
        unshare(NEW_USER | NEW_NET)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"0 {user} 1")
        _write("/proc/self/gid_map", f"0 {group} 1")
        return True
    return False


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
