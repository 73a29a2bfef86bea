# SPDX-License-Identifier: Apache-2.0
"""netd: the process that owns the pod network and outlives all other processes of the cluster.

netd runs in the network's namespaces and answers requests at `holder.sock` (see `messages`): `attach` a pod, pass out
`socket`s and `listen`ing sockets created inside, accept a new service `table`, return `info`, and pass its `namespaces`
to shims, which keep them alive. When killed and restarted, netd gets these namespaces from the living shims and joins
them, so that pods never lose their network. Standard library only, one thread, a few megabytes.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import signal
import socket
import sys

from springtide.local.bounded_json import check_depth
from springtide.local.network import messages
from springtide.local.network.kernel import cabling, namespaces
from springtide.local.network.kernel.outside import Outside
from springtide.local.network.kernel.uplinks import Uplink
from springtide.local.network.loop import READ, Loop
from springtide.local.network.messages import Conversation, Incoming, Refused
from springtide.local.network.names.resolver import Resolver
from springtide.local.network.names.zone import Zone
from springtide.local.network.netd_log import say
from springtide.local.network.proxy.services import Services

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Answer = tuple[dict[str, Any], list[int]]

SHIM_PATIENCE = 1.0
_ALIVE = 2.0
_ACCEPT_PAUSE = 0.1
_REFUSAL = 1000
"""Maximum characters of a rejection that may repeat the request: an answer must fit the socket's buffer."""
_KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}


class Netd:
    def __init__(self, loop: Loop, directory: str, own_user: bool, outside: Outside) -> None:
        """The process is already inside the namespaces. `own_user`: they include a user namespace."""
        self._loop, self._directory = loop, directory
        self._own_user = own_user
        self._uplink = Uplink(loop, outside, directory, own_user)
        self._resolver = Resolver(loop, outside, lambda: self._uplink.there)
        self._services = Services(loop)
        self._read_table()
        loop.watch(outside.fileno(), READ, loop.stop)  # without the helper netd must be restarted to get both halves
        self._path = os.path.join(directory, "holder.sock")
        self._listener = messages.listen(self._path)
        self._inode = os.stat(self._path).st_ino
        loop.watch(self._listener, READ, self._accept)
        loop.later(_ALIVE, self._check_place)

    def lead_out(self) -> None:
        """Starts looking for an uplink."""
        self._uplink.start()

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError:  # no descriptor is free; until one is, the listener would stay ready
            self._loop.forget(self._listener)
            self._loop.later(_ACCEPT_PAUSE, lambda: self._loop.watch(self._listener, READ, self._accept))
            return
        sock.setblocking(False)
        _Peer(self._loop, sock, self._answer)

    def _check_place(self) -> None:
        """Exits when the data directory was removed: the network is then unused."""
        try:
            here = os.stat(self._path).st_ino == self._inode
        except OSError:
            here = False
        if not here:
            self._loop.stop()
        self._loop.later(_ALIVE, self._check_place)

    # Requests

    def _answer(self, request: dict[str, Any], descriptors: list[int]) -> Answer:
        verbs = {
            "attach": self._attach,
            "namespaces": self._namespaces,
            "listen": self._listen,
            "socket": self._socket,
            "table": self._table,
            "info": self._info,
            "end": self._end,
        }
        verb = verbs.get(str(request.get("do")))
        if verb is None:
            raise Refused(
                f"unknown request {str(request.get('do'))[:_REFUSAL]!r}; known are {', '.join(verbs)}", "Unknown"
            )
        return verb(request, descriptors)

    def _attach(self, request: dict[str, Any], descriptors: list[int]) -> Answer:
        if len(descriptors) != 2:
            raise Refused("attach needs two descriptors: a network namespace and a netlink socket made in it", "Bad")
        with socket.socket(fileno=os.dup(descriptors[1])) as inside:
            cabling.attach(str(request["address"]), descriptors[0], inside)
        return {}, []

    def _namespaces(self, request: dict[str, Any], descriptors: list[int]) -> Answer:
        kinds = ("user", "net") if self._own_user else ("net",)
        return {}, [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds]

    def _listen(self, request: dict[str, Any], descriptors: list[int]) -> Answer:
        kind = _kind(request.get("protocol", "tcp"))
        with socket.socket(socket.AF_INET, kind) as listener:
            # A server listens again after a restart of either process, while its old socket may still be open.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((str(request["address"]), int(request["port"])))
            if kind == socket.SOCK_STREAM:
                listener.listen(1024)
            return {}, [listener.detach()]

    def _socket(self, request: dict[str, Any], descriptors: list[int]) -> Answer:
        return {}, [socket.socket(socket.AF_INET, _kind(request.get("kind", "tcp"))).detach()]

    def _info(self, request: dict[str, Any], descriptors: list[int]) -> Answer:
        uplink = self._uplink
        return {"pid": os.getpid(), "uplink": uplink.name, "why": uplink.why, "looking": uplink.looking}, []

    def _table(self, request: dict[str, Any], descriptors: list[int]) -> Answer:
        table = request["table"]
        self._apply(table)
        try:
            _write(os.path.join(self._directory, "table.json"), table)
        except OSError as problem:  # a full disk: the table is in force nevertheless
            say(f"cannot keep the table for a successor: {problem}")
        return {}, []

    def _read_table(self) -> None:
        """Applies the last table, so that names and services work before the API server is up."""
        path = os.path.join(self._directory, "table.json")
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError), open(path) as file:
            text = file.read()
            check_depth(text)
            self._apply(json.loads(text))

    def _apply(self, table: dict[str, Any]) -> None:
        self._resolver.zone = Zone(table)
        self._services.apply(table)

    def _end(self, request: dict[str, Any], descriptors: list[int]) -> Answer:
        self._loop.stop()
        return {}, []


class _Peer:
    """One connection to the control socket."""

    def __init__(self, loop: Loop, sock: socket.socket, answer: Callable[[dict[str, Any], list[int]], Answer]) -> None:
        self._loop, self._socket, self._answer = loop, sock, answer
        self._incoming = Incoming(sock)
        loop.watch(sock, READ, self._readable)

    def _readable(self) -> None:
        try:
            more = self._incoming.read()
            while (message := self._incoming.take()) is not None:
                self._reply(*message)
        except BlockingIOError:
            return
        except (OSError, ValueError):
            more = False
        if not more:
            self._loop.forget(self._socket)
            self._incoming.close()
            self._socket.close()

    def _reply(self, request: dict[str, Any], received: list[int]) -> None:
        given: list[int] = []
        try:
            body, given = self._answer(request, received)
            messages.send(self._socket, {"ok": True, **body}, given)
        except Refused as refusal:
            messages.send(self._socket, {"error": str(refusal), "reason": refusal.reason})
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as mistake:
            messages.send(self._socket, {"error": f"bad request: {mistake!r}"[:_REFUSAL], "reason": "Bad"})
        except OSError as problem:
            reason = type(problem).__name__
            messages.send(self._socket, {"error": problem.strerror or str(problem), "reason": reason})
        finally:
            messages.close_all(received)
            messages.close_all(given)


def _kind(name: object) -> int:
    kind = _KINDS.get(str(name).lower())
    if kind is None:
        raise Refused(f"unknown protocol {name!r}; known are tcp and udp", "Bad")
    return kind


# Starting


def enter(data_dir: str) -> bool:
    """Joins the network of the living pods, or creates one; True if it includes a user namespace."""
    kept = _kept_by_shims(os.path.join(data_dir, "pods"))
    if not kept:
        return namespaces.new_network()
    try:
        if len(kept) == 2:
            namespaces.join(kept[0], namespaces.NEW_USER)
        namespaces.join(kept[-1], namespaces.NEW_NET)
    finally:
        messages.close_all(kept)
    return len(kept) == 2


def _kept_by_shims(pods: str) -> list[int]:
    """The network's namespaces, user (if any) and net, from the first living shim that answers."""
    try:
        names = sorted(os.listdir(pods))
    except OSError:
        return []
    for name in names:
        with contextlib.suppress(OSError, ValueError, Refused):
            conversation = Conversation(os.path.join(pods, name, "shim.sock"), SHIM_PATIENCE)
            try:
                _, kept = conversation.ask({"do": "namespaces"})
            finally:
                conversation.close()
            if kept:
                return kept
    return []


def _only_one(directory: str) -> bool:
    """Whether this is the only netd of the directory; the lock is released when the process exits."""
    lock = os.open(os.path.join(directory, "holder.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # unlike flock's, not inherited by forked processes
    except (BlockingIOError, PermissionError):
        os.close(lock)
        return False
    return True


def _introduce(directory: str) -> None:
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    with open("/proc/self/stat") as file:
        started = int(file.read().rpartition(")")[2].split()[19])
    _write(os.path.join(directory, "holder.json"), {"pid": os.getpid(), "boot": boot, "start": started})


def _write(path: str, content: dict[str, Any]) -> None:
    with open(f"{path}.new", "w") as file:
        json.dump(content, file)
    os.rename(f"{path}.new", path)


def main(data_dir: str, uplink: str = "") -> int:
    """With `--no-uplink`, pods can reach only each other."""
    directory = os.path.join(data_dir, "network")
    os.makedirs(directory, mode=0o700, exist_ok=True)
    if not _only_one(directory):
        say("another netd serves this data directory already")
        return 0
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    outside = Outside(directory)
    own_user = enter(data_dir)
    cabling.build()
    loop = Loop()
    holder = Netd(loop, directory, own_user, outside)
    if uplink != "--no-uplink":
        holder.lead_out()
    _introduce(directory)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # interrupts any wait
    try:
        loop.run()
    finally:
        outside.close()
    return 0
