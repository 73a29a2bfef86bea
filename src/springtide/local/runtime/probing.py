# SPDX-License-Identifier: Apache-2.0
"""The steps that `isolation.probe` runs in a separate process to find out which isolation this machine allows a pod.

Each step prints its result as one line; what it creates disappears with the process. Standard library only, and the
shim's own calls, so that the result holds for a shim.
"""

from __future__ import annotations

import os
import struct
import sys

from springtide.local.runtime.shim import kernel, loop
from springtide.local.runtime.shim.json_lines import encode
from springtide.local.runtime.shim.kernel import describe
from springtide.local.runtime.shim.root import Root

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
else:
    import _socket as socket

RTM_NEWLINK = 16
REQUEST_ACK_CREATE = 0x1 | 0x4 | 0x400 | 0x200
IFLA_LINKINFO, IFLA_INFO_KIND = 18, 1


def link_request(kind: str) -> bytes:
    """The netlink message that creates a network interface of a kind, named by the kernel."""

    def attribute(number: int, value: bytes) -> bytes:
        return struct.pack("HH", 4 + len(value), number) + value + bytes(-len(value) % 4)

    rest = struct.pack("BxHiII", 0, 0, 0, 0, 0) + attribute(IFLA_LINKINFO, attribute(IFLA_INFO_KIND, kind.encode()))
    return struct.pack("IHHII", 16 + len(rest), RTM_NEWLINK, REQUEST_ACK_CREATE, 1, 0) + rest


def make_link(kind: str) -> None:
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    try:
        netlink.send(link_request(kind))
        (code,) = struct.unpack_from("i", netlink.recv(4096), 16)
    finally:
        netlink.close()
    if code:
        raise OSError(-code, f"cannot make a {kind}: {os.strerror(-code).lower()}")


def tell(name: str, error: OSError | None = None, note: str = "") -> None:
    number = error.errno or 0 if error else 0
    line = {"name": name, "ok": not error and not note, "errno": number, "why": describe(error) if error else note}
    print(encode(line), flush=True)


def attempt(name: str, act: Callable[[], object]) -> bool:
    try:
        act()
    except OSError as error:
        tell(name, error)
        return False
    tell(name)
    return True


def network() -> None:
    kernel.unshare(kernel.CLONE_NEWNET | kernel.CLONE_NEWUTS | kernel.CLONE_NEWIPC)
    make_link("bridge")
    make_link("veth")


def root(scratch: str, user: tuple[int, int] | None) -> None:
    """In PID 1 of a namespace: build a container's root, with a mount point that the host does not have."""
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("", "/", flags=kernel.MS_SLAVE | kernel.MS_REC)
    os.makedirs(f"{scratch}/shm")
    built = Root(f"{scratch}/root", user is None, f"{scratch}/shm")
    mounts = [{"target": "/usr/share/springtide-probe/here", "source": f"{scratch}/shm"}]
    if not attempt("root", lambda: built.build(mounts, False, "")):
        return
    tell("proc", note="" if built.fresh_proc else "a fresh /proc is refused; pods see the host's processes")
    tell("overlay", note=built.overlay_refusal)
    if user:
        attempt("own uid", lambda: kernel.own_user_namespace(user))


def main(scratch: str) -> None:
    user = (os.geteuid(), os.getegid()) if os.geteuid() else None
    if user and not attempt("user", lambda: kernel.own_user_namespace((0, 0))):
        return
    attempt("network", network)
    if attempt("processes", lambda: kernel.unshare(kernel.CLONE_NEWPID)):
        os.waitpid(loop.Loop.fork(lambda: root(scratch, user)), 0)


if __name__ == "__main__":
    main(sys.argv[1])
