# SPDX-License-Identifier: Apache-2.0
"""System calls that Python 3.11 does not have: namespaces, mounts, prctl."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_UNBINDABLE, MS_PRIVATE, MS_SLAVE = 1 << 12, 1 << 14, 1 << 17, 1 << 18, 1 << 19
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 4, 15, 36
SYS_MOUNT_SETATTR = 442  # the same on every architecture
AT_FDCWD, AT_RECURSIVE = -100, 0x8000

_libc = ctypes.CDLL(None, use_errno=True)


class Ignoring:
    """`contextlib.suppress` without the imports of its module."""

    def __init__(self, kind: type[BaseException]) -> None:
        self._kind = kind

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._kind)


class Refusal(Exception):
    """A request that is rejected: `reason` for programs, the message for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def call_kernel(what: str, name: str, *arguments: Any) -> int:
    result: int = getattr(_libc, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number).lower()}")
    return result


def describe(error: OSError) -> str:
    """The error message without Python's decoration."""
    text = error.strerror or str(error)
    text = text[:1].lower() + text[1:]
    return f"{error.filename}: {text}" if error.filename else text


def complain(text: str) -> None:
    with Ignoring(OSError):  # the message may be written to the very disk it complains about
        print(text, file=sys.stderr, flush=True)


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    what = f"cannot mount {source or kind} at {target}"
    texts = [os.fsencode(text) for text in (source, target, kind, data)]
    call_kernel(what, "mount", *texts[:3], ctypes.c_ulong(flags), texts[3])


def unshare(flags: int) -> None:
    call_kernel("cannot make namespaces", "unshare", flags)
    # A change of credentials makes a process unreadable in /proc for its own siblings; this undoes that.
    prctl(PR_SET_DUMPABLE, 1)


def setns(fd: int, flags: int) -> None:
    call_kernel("cannot join a namespace", "setns", fd, flags)
    prctl(PR_SET_DUMPABLE, 1)


def prctl(option: int, value: Any) -> None:
    if sys.platform == "linux":
        call_kernel("prctl", "prctl", option, value if isinstance(value, bytes) else ctypes.c_ulong(value), 0, 0, 0)


def set_read_only(path: str, recursive: bool) -> None:
    """Forbid writes through a mount, keeping its other flags, which an ordinary user may not clear."""
    attributes = struct.pack("=QQQQ", 1, 0, 0, 0)
    try:
        flags = AT_RECURSIVE if recursive else 0
        long = ctypes.c_long
        call_kernel(
            f"cannot make {path} read-only",
            "syscall",
            long(SYS_MOUNT_SETATTR),
            long(AT_FDCWD),
            os.fsencode(path),
            long(flags),
            attributes,
            long(len(attributes)),
        )
    except OSError as error:
        if error.errno != errno.ENOSYS:  # Linux before 5.12
            raise
        kept = os.statvfs(path).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC | 1024 | 2048)
        mount("", path, flags=MS_BIND | MS_REMOUNT | MS_RDONLY | kept)


def own_user_namespace(inside: tuple[int, int]) -> None:
    """Enter a user namespace in which the caller has the given uid and gid, and all capabilities until it executes a
    program."""
    outside = (os.geteuid(), os.getegid())
    unshare(CLONE_NEWUSER)
    for name, text in (
        ("setgroups", "deny"),  # required for writing a gid_map without privileges outside
        ("uid_map", f"{inside[0]} {outside[0]} 1"),
        ("gid_map", f"{inside[1]} {outside[1]} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def start_time(pid: int) -> int:
    """When a process started, in ticks since boot: together with PID and boot id it identifies a process uniquely."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])


def boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def close_others(kept: Iterable[int]) -> None:
    """Close all descriptors that a fork inherited but does not need: an open copy of a socket would hide its closing
    from its peer."""
    keep = {0, 1, 2, *kept}
    for name in os.listdir("/dev/fd"):
        if int(name) not in keep:
            with Ignoring(OSError):  # the descriptor of the directory listing
                os.close(int(name))
