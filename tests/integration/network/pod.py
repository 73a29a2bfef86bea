# SPDX-License-Identifier: Apache-2.0
"""What a pod is to the network: a process that joins it, gets a cable and then runs some Python.

    pod.py SOURCE DATA_DIR ADDRESS CODE

Beside it stands what a shim is to the network: a process at `pods/<address>/shim.sock` that keeps the network's
namespaces and hands them out. Both end with the pod.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys

SOURCE, DATA_DIR, ADDRESS, CODE = sys.argv[1:5]
sys.path.insert(0, SOURCE)

from springtide.local.network import messages  # noqa: E402
from springtide.local.network.kernel import namespaces  # noqa: E402

NEW_MOUNTS, BIND, RECURSIVE_PRIVATE = 0x20000, 4096, 0x44000
RESOLVER = "nameserver 10.96.0.10\nsearch default.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n"


def enter() -> list[int]:
    """The network's namespaces, which we are then in, or below."""
    holder = messages.Conversation(os.path.join(DATA_DIR, "network", "holder.sock"), 5)
    _, kept = holder.ask({"do": "namespaces"})
    if len(kept) == 2:
        namespaces.join(kept[0], namespaces.NEW_USER)
    namespaces.unshare(namespaces.NEW_NET | NEW_MOUNTS)
    inside = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    holder.ask({"do": "attach", "pod": ADDRESS, "address": ADDRESS}, [own, inside.fileno()])
    inside.close()
    holder.close()
    return kept


def keep(kept: list[int], directory: str) -> None:
    """A shim's part."""
    listener = messages.listen(os.path.join(directory, "shim.sock"))
    if os.fork():
        listener.close()
        return
    namespaces.die_with_parent(signal.SIGKILL)
    listener.setblocking(True)
    while True:
        peer, _ = listener.accept()
        with peer, contextlib.suppress(OSError):  # a holder may be killed while it asks
            peer.recv(1000)
            messages.send(peer, {"ok": True}, kept)


def bind_resolver(directory: str) -> None:
    path = os.path.join(directory, "resolv.conf")
    with open(path, "w") as file:
        file.write(RESOLVER)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mount(b"none", b"/", None, RECURSIVE_PRIVATE, None)
    if libc.mount(path.encode(), b"/etc/resolv.conf", None, BIND, None):
        raise OSError(ctypes.get_errno(), "cannot bind resolv.conf")


def main() -> None:
    directory = os.path.join(DATA_DIR, "pods", ADDRESS)
    os.makedirs(directory, exist_ok=True)
    keep(enter(), directory)
    bind_resolver(directory)
    print("ready", flush=True)
    exec(CODE, {"__name__": "pod", "ADDRESS": ADDRESS})


main()
