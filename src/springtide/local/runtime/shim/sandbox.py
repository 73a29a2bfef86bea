# SPDX-License-Identifier: Apache-2.0
"""The namespaces that all containers of a pod share: network, names, the place for volumes in memory."""

from __future__ import annotations

import os
import time

from springtide.local.control_sockets import at_directory
from springtide.local.runtime.shim.kernel import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    MS_NODEV,
    MS_NOSUID,
    MS_REC,
    MS_SLAVE,
    PR_SET_CHILD_SUBREAPER,
    Ignoring,
    Refusal,
    call_kernel,
    describe,
    mount,
    own_user_namespace,
    prctl,
    setns,
    unshare,
)
from springtide.local.runtime.shim.messages import ask
from springtide.local.runtime.shim.program import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    Obj = dict[str, Any]
else:
    import _socket as socket


SYSCTLS = (
    ("ip_unprivileged_port_start", "0"),
    ("ping_group_range", "0 0"),
    ("ping_group_range", "0 2147483647"),  # refused where an ordinary user's namespace has only one group
)
"""In the pod's own network every user may listen on port 80 and ping, as in container runtimes."""
PATIENCE = 5.0
"""Seconds to wait for a netd that is restarting."""


def call_holder(path: str) -> socket.socket:
    """A connection to netd, waiting a while for a netd that is restarting."""
    deadline = time.monotonic() + PATIENCE
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(4 * PATIENCE)  # netd may be busy with hundreds of other requests
        try:
            at_directory(path, connection.connect)
            return connection
        except OSError as error:
            connection.close()
            if time.monotonic() > deadline:
                why = f"netd does not answer at {path}: {plain(error)}; `tide up` starts it again"
                raise Refusal("NetworkNotReady", why) from None
        time.sleep(0.02)


class Sandbox:
    """The namespaces that all containers of a pod share. The shim runs in them, so they exist as long as it does."""

    def __init__(self, directory: str, body: Obj) -> None:
        self.body = body
        self.isolated = body.get("isolation", "namespaces") == "namespaces"
        self.user = (os.geteuid(), os.getegid()) if os.geteuid() != 0 and self.isolated else None
        self.shm = f"{directory}/shm"
        self.network: list[int] = []
        """The pods' network: its user (of ordinary users) and net namespaces, kept alive for netd's successor."""

    def enter(self) -> None:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        if not self.isolated:
            return
        try:
            if self.body.get("holder"):
                self._enter_with_network(self.body["holder"])
            else:
                if self.user:
                    own_user_namespace((0, 0))
                unshare(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS)
            mount("", "/", flags=MS_SLAVE | MS_REC)
            os.makedirs(self.shm, exist_ok=True)
            mount("tmpfs", self.shm, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
            for volume in self.body.get("memory") or ():
                _add_memory(volume)
            socket.sethostname(self.body["hostname"])
            if self.body.get("domain"):
                name = self.body["domain"].encode()
                call_kernel("cannot set the domain", "setdomainname", name, len(name))
        except OSError as error:
            raise Refusal("SandboxError", describe(error)) from None

    def _enter_with_network(self, holder: str) -> None:
        connection = call_holder(holder)
        try:
            _, self.network = ask(connection, {"do": "namespaces"})
            if self.user:
                setns(self.network[0], CLONE_NEWUSER)
            unshare(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWNET)
            for name, text in SYSCTLS:
                with Ignoring(OSError), open(f"/proc/sys/net/ipv4/{name}", "w") as file:
                    file.write(text)
            inside = os.open("/proc/self/ns/net", os.O_RDONLY)
            netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            request = {"do": "attach", "pod": self.body["uid"], "address": self.body["address"]}
            ask(connection, request, [inside, netlink.fileno()])
            netlink.close()
            os.close(inside)
        except OSError as error:
            raise Refusal("NetworkNotReady", f"netd failed: {describe(error)}") from None
        finally:
            connection.close()


def _add_memory(volume: Obj) -> None:
    group = volume.get("group")
    owner = "mode=0777" if group is None else f"mode=2777,gid={group}"
    os.makedirs(volume["path"], exist_ok=True)
    mount("tmpfs", volume["path"], "tmpfs", MS_NOSUID | MS_NODEV, f"size={volume['size']},{owner}")
