# SPDX-License-Identifier: Apache-2.0
"""The shim: one small process per pod that holds its namespaces, runs its containers and outlives everybody else.

    node agent ──shim.sock──► shim ─┬─ init (PID 1 of the container) ─► program ─► ...
                                    ├─ init ─► program
                                    └─ commands run by exec

The agent writes bodies into the pod's directory and asks over the socket; the shim writes states, logs and exit codes
beside them. So the agent may die at any moment and its successor still knows. When the shim dies, its inits die by
PR_SET_PDEATHSIG, and with an init everything in its PID namespace: nothing is ever left behind.

One file, standard library only, run by `python -I -S`; there is one shim per pod, so each import is paid hundreds of
times. Hence the C halves of `signal`, `socket` and `json` (their Python halves cost 10 ms and 2 MB), no asyncio and no
threads: namespaces can only be changed by a process with a single one.

Sections: JSON, kernel, messages, loop, root, program, init, logs, memory, container, execution, sandbox, shim.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import stat
import struct
import sys
import termios
import time
from _json import encode_basestring_ascii, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    import socket
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, NoReturn

    Obj = dict[str, Any]
else:
    import _signal as signal
    import _socket as socket

# ---------------------------------------------------------------------------------------------------------------- JSON


class _Rules:
    """What the C scanner asks of a decoder."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner empties it itself


_scan = make_scanner(_Rules())  # type: ignore[arg-type]


def decode(text: str | bytes) -> Any:
    """Read JSON; `ValueError` when it is none."""
    if isinstance(text, bytes):
        text = text.decode()
    try:
        return _scan(text.strip(), 0)[0]
    except StopIteration:
        raise ValueError("not JSON") from None


def encode(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "{" + ",".join(f"{encode(str(key))}:{encode(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(encode, value)) + "]"
    return repr(value)


def read_json(path: str) -> Any:
    with open(path, "rb") as file:
        return decode(file.read())


def write_json(path: str, value: Any) -> None:
    """Replace a file as a whole: a reader sees the old one or the new one."""
    fresh = f"{path}.new"
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(encode(value))
    os.rename(fresh, path)


# -------------------------------------------------------------------------------------------------------------- kernel

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
    """`contextlib.suppress` without what its module imports."""

    def __init__(self, kind: type[BaseException]) -> None:
        self._kind = kind

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._kind)


class Refusal(Exception):
    """Something that cannot be done, with a word for programs and a sentence for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def _call(what: str, name: str, *arguments: Any) -> int:
    result: int = getattr(_libc, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number).lower()}")
    return result


def describe(error: OSError) -> str:
    """What went wrong, without Python's decoration."""
    text = error.strerror or str(error)
    text = text[:1].lower() + text[1:]
    return f"{error.filename}: {text}" if error.filename else text


def complain(text: str) -> None:
    with Ignoring(OSError):  # the disk that is complained about is the one the complaint goes to
        print(text, file=sys.stderr, flush=True)


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    what = f"cannot mount {source or kind} at {target}"
    texts = [os.fsencode(text) for text in (source, target, kind, data)]
    _call(what, "mount", *texts[:3], ctypes.c_ulong(flags), texts[3])


def unshare(flags: int) -> None:
    _call("cannot make namespaces", "unshare", flags)
    # A change of credentials makes a process unreadable in /proc for its own siblings; this takes it back.
    prctl(PR_SET_DUMPABLE, 1)


def setns(fd: int, flags: int) -> None:
    _call("cannot join a namespace", "setns", fd, flags)
    prctl(PR_SET_DUMPABLE, 1)


def prctl(option: int, value: Any) -> None:
    if sys.platform == "linux":
        _call("prctl", "prctl", option, value if isinstance(value, bytes) else ctypes.c_ulong(value), 0, 0, 0)


def set_read_only(path: str, recursive: bool) -> None:
    """Forbid writes through a mount, keeping its other flags, which an ordinary user may not take away."""
    attributes = struct.pack("=QQQQ", 1, 0, 0, 0)
    try:
        flags = AT_RECURSIVE if recursive else 0
        long = ctypes.c_long
        _call(
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
    """Enter a user namespace in which the caller has the given uid and gid, and every right until it runs a program."""
    outside = (os.geteuid(), os.getegid())
    unshare(CLONE_NEWUSER)
    for name, text in (
        ("setgroups", "deny"),  # the price of a gid_map without rights outside
        ("uid_map", f"{inside[0]} {outside[0]} 1"),
        ("gid_map", f"{inside[1]} {outside[1]} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def start_time(pid: int) -> int:
    """When a process started, in ticks since boot: with its PID and the boot, a name that is never used twice."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])


def boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def close_others(kept: Iterable[int]) -> None:
    """Close all that a fork inherited but does not need: a copy of a socket would keep its peer waiting for its end."""
    keep = {0, 1, 2, *kept}
    for name in os.listdir("/dev/fd"):
        if int(name) not in keep:
            with Ignoring(OSError):  # the one that listed them
                os.close(int(name))


# ------------------------------------------------------------------------------------------------------------ messages

MAX_MESSAGE = 1 << 22
MAX_FDS = 16
MAX_BACKLOG = 1 << 20


def pack_fds(fds: Sequence[int]) -> list[tuple[int, int, bytes]]:
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(fds)}i", *fds))] if fds else []


def unpack_fds(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    found: list[int] = []
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found += struct.unpack(f"{len(data) // 4}i", data[: len(data) // 4 * 4])
    for fd in found:
        os.set_inheritable(fd, False)
    return found


def at_directory(path: str, act: Callable[[str], None]) -> None:
    """Bind or connect a socket by a short name for its path, which may be longer than an address can hold."""
    if len(os.fsencode(path)) < 100 or not os.path.isdir("/proc/self/fd"):
        act(path)
        return
    directory = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        act(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
    finally:
        os.close(directory)


def ask(connection: socket.socket, message: Obj, fds: Sequence[int] = ()) -> tuple[Obj, list[int]]:
    """One request and its answer on a blocking connection."""
    connection.sendmsg([encode(message).encode() + b"\n"], pack_fds(fds))
    text, received = b"", list[int]()
    while not text.endswith(b"\n"):
        data, ancillary, _, _ = connection.recvmsg(65536, socket.CMSG_SPACE(64))
        received += unpack_fds(ancillary)
        if not data:
            raise ConnectionResetError(errno.ECONNRESET, "the connection was closed")
        text += data
    answer = decode(text)
    if "error" in answer:
        raise Refusal(str(answer.get("reason", "Error")), str(answer["error"]))
    return answer, received


class Client:
    """One connection to the shim: requests in as lines, answers out, descriptors beside either."""

    def __init__(self, loop: Loop, connection: socket.socket, serve: Callable[[Client, Obj, list[int]], None]) -> None:
        self.loop = loop
        self.connection = connection
        self.fd = connection.fileno()
        self.serve = serve
        self.on_close: list[Callable[[], None]] = []
        self.open = True
        self._inbox = b""
        self._fds: list[int] = []
        self._outbox = b""
        connection.setblocking(False)
        loop.watch(self.fd, select.POLLIN, self._ready)

    def _ready(self, events: int) -> None:
        if events & select.POLLOUT:
            self._flush()
        if self.open and events & ~select.POLLOUT:
            self._receive()

    def _receive(self) -> None:
        try:
            data, ancillary, _, _ = self.connection.recvmsg(65536, socket.CMSG_SPACE(64))
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        self._fds += unpack_fds(ancillary)
        self._inbox += data
        if not data or len(self._inbox) > MAX_MESSAGE or len(self._fds) > MAX_FDS:
            self.close()
            return
        while self.open and b"\n" in self._inbox:
            line, _, self._inbox = self._inbox.partition(b"\n")
            fds, self._fds = self._fds, []
            self._request(line, fds)

    def _request(self, line: bytes, fds: list[int]) -> None:
        try:
            message = decode(line)
            if not isinstance(message, dict):
                raise ValueError("not an object")
            self.serve(self, message, fds)
        except Refusal as refusal:
            self.refuse(refusal.reason, str(refusal))
        except (KeyError, TypeError, ValueError) as error:
            self.refuse("BadRequest", f"cannot read the request: {error!r}")
        except OSError as error:
            self.refuse("Error", describe(error))
        finally:
            for fd in fds:  # whoever needs one longer has made a copy
                os.close(fd)

    def refuse(self, reason: str, message: str) -> None:
        self.send({"error": message, "reason": reason})

    def send(self, message: Obj, fds: Sequence[int] = ()) -> None:
        if not self.open:
            return
        data = encode(message).encode() + b"\n"
        if self._outbox:
            self._outbox += data
        else:
            try:
                sent = self.connection.sendmsg([data], pack_fds(fds))
            except BlockingIOError:
                sent = 0
            except OSError:
                self.close()
                return
            self._outbox = data[sent:]
        if len(self._outbox) > MAX_BACKLOG:  # a reader that does not read must not fill the shim's memory
            self.close()
        elif self._outbox:
            self.loop.watch(self.fd, select.POLLIN | select.POLLOUT, self._ready)

    def _flush(self) -> None:
        try:
            self._outbox = self._outbox[self.connection.send(self._outbox) :]
        except BlockingIOError:
            return
        except OSError:
            self.close()
            return
        if not self._outbox:
            self.loop.watch(self.fd, select.POLLIN, self._ready)

    def close(self) -> None:
        if not self.open:
            return
        self.open = False
        self.loop.forget(self.fd)
        self.connection.close()
        for fd in self._fds:
            os.close(fd)
        for act in self.on_close:
            act()


# ---------------------------------------------------------------------------------------------------------------- loop


class Timer:
    def __init__(self, due: float, act: Callable[[], None]) -> None:
        self.due = due
        self.act = act


class Loop:
    """Descriptors, timers and children: all that a shim ever waits for."""

    def __init__(self) -> None:
        self.done = False
        self.children: dict[int, Callable[[int, Any], None]] = {}
        self.on_stranger: Callable[[int, int, Any], None] = lambda pid, status, usage: None
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._timers: list[Timer] = []
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.watch(self._woken, select.POLLIN, self._reap)

    def watch(self, fd: int, events: int, act: Callable[[int], None]) -> None:
        self._handlers[fd] = act
        self._poll.register(fd, events)

    def forget(self, fd: int) -> None:
        if self._handlers.pop(fd, None):
            self._poll.unregister(fd)

    def after(self, seconds: float, act: Callable[[], None]) -> Timer:
        timer = Timer(time.monotonic() + seconds, act)
        self._timers.append(timer)
        return timer

    def cancel(self, timer: Timer | None) -> None:
        if timer in self._timers:
            self._timers.remove(timer)

    def run(self) -> None:
        while not self.done:
            soonest = min((timer.due for timer in self._timers), default=None)
            wait = None if soonest is None else max(0.0, soonest - time.monotonic()) * 1000
            for fd, events in self._poll.poll(wait):
                if fd in self._handlers:  # an earlier one may have closed it
                    self._handlers[fd](events)
            now = time.monotonic()
            for timer in [timer for timer in self._timers if timer.due <= now]:
                if timer in self._timers:  # an earlier one may have cancelled it
                    self._timers.remove(timer)
                    timer.act()

    def _reap(self, _: int) -> None:
        with Ignoring(BlockingIOError):
            os.read(self._woken, 4096)
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            act = self.children.pop(pid, None)
            if act:
                act(status, usage)
            else:
                self.on_stranger(pid, status, usage)

    @staticmethod
    def fork(work: Callable[[], object]) -> int:
        """Run `work` in a child, which never comes back here."""
        pid = os.fork()
        if pid:
            return pid
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            work()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            raise
        finally:
            os._exit(70)


# ---------------------------------------------------------------------------------------------------------------- root

SYSTEM = ("bin", "etc", "lib", "lib32", "lib64", "libx32", "opt", "sbin", "usr", "var")
"""Directories of the host that a pod of root sees but never writes."""
PRIVATE = {"tmp": 0o1777, "root": 0o700}
"""Directories of a container's own, on disk."""
IN_MEMORY = {"dev": "mode=755", "run": "mode=755,size=10%"}
OTHERS = frozenset(("boot", "lost+found", "proc", *PRIVATE, *IN_MEMORY))
"""What of the host's root a container does not see."""


class Root:
    """A container's own root: the host's directories bound into a private one, and what the pod adds over them.

    It is built beside the host's tree and pivoted to at the end, so whatever it hides is still there as a source while
    it is built. What programs write lies in the pod's directory on disk, not in memory: it may be checkpoints.
    """

    def __init__(self, base: str, is_root: bool, shm: str) -> None:
        self.base = base
        self.top = f"{base}/top"
        self.fresh_proc = False
        self.overlay_refusal = ""
        self._is_root = is_root
        self._shm = shm
        self._layers = 0
        self._own = {"/"}  # where missing mount points are simply made

    def build(self, mounts: Iterable[Obj], read_only: bool, search_path: str) -> None:
        """Replace the root of the calling process, which is in a mount namespace of its own."""
        remove_tree(self.base)  # of a start that was cut short
        entries = _entries("/", lambda entry: entry.name in OTHERS)
        self._lay_ground(entries)
        self._show(entries, self.top)
        self._add_private()
        self._furnish(search_path)
        self._add_system()
        added = [self._add(item) for item in mounts]
        if read_only:
            self._forbid_writing(added)
        mount("", self.top, flags=MS_PRIVATE)
        os.chdir(self.top)
        _call("cannot change the root", "pivot_root", b".", b".")
        _call("cannot leave the host's root", "umount2", b".", MNT_DETACH)
        os.chdir("/")

    def _lay_ground(self, entries: list[os.DirEntry[str]]) -> None:
        """What becomes the root: a directory on disk, laid over one in memory with a place for all that is shown in it.

        A disk would need as long for these places as all the rest takes. Where that is refused, it has them.
        """
        os.makedirs(self.top)
        os.chmod(self.top, 0o755)
        mount("tmpfs", self.top, "tmpfs", data="mode=755")
        self._outline(entries)
        below = os.open(self.top, os.O_PATH)
        try:
            mount("overlay", self.top, "overlay", data=self._layer(self._store(False), self.top))
            mount("", f"/proc/self/fd/{below}", flags=MS_UNBINDABLE)
        except OSError:
            _call("cannot take away the root's places", "umount2", os.fsencode(self.top), MNT_DETACH)
            mount(self.top, self.top, flags=MS_BIND)
            self._outline(entries)
        os.close(below)
        # Unbindable, so that binding a directory above it does not bind it into itself.
        mount("", self.top, flags=MS_UNBINDABLE)

    def _outline(self, entries: list[os.DirEntry[str]]) -> None:
        _make_places(entries, self.top)
        for name in ("proc", *PRIVATE, *IN_MEMORY):
            os.mkdir(f"{self.top}/{name}")

    def _show(self, entries: list[os.DirEntry[str]], target: str) -> None:
        for entry in entries:
            if not entry.is_symlink():
                mount(entry.path, f"{target}/{entry.name}", flags=MS_BIND | MS_REC)

    def _add_private(self) -> None:
        for name, mode in PRIVATE.items():
            os.mkdir(f"{self.base}/{name}")
            os.chmod(f"{self.base}/{name}", mode)
            mount(f"{self.base}/{name}", f"{self.top}/{name}", flags=MS_BIND)
            self._own.add(f"/{name}")
        for name, options in IN_MEMORY.items():
            mount("tmpfs", f"{self.top}/{name}", "tmpfs", MS_NOSUID, options)
            self._own.add(f"/{name}")

    def _furnish(self, search_path: str) -> None:
        """What an image with sshd has: it separates its privileges in a directory, and clears PATH for its shells."""
        os.mkdir(f"{self.top}/run/sshd", 0o755)
        quoted = search_path.replace("'", "'\\''")
        with open(f"{self.base}/root/.bashrc", "w") as file:  # bash reads it when sshd starts it, too
            file.write(f"export PATH='{quoted}'\n")

    def _add_system(self) -> None:
        devices = _entries("/dev", _useless_device)
        _make_places(devices, f"{self.top}/dev")
        self._show(devices, f"{self.top}/dev")
        os.mkdir(f"{self.top}/dev/shm")
        mount(self._shm, f"{self.top}/dev/shm", flags=MS_BIND)
        self._own.add("/dev/shm")
        try:
            mount("proc", f"{self.top}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
            self.fresh_proc = True
        except OSError:  # refused where the host's own is partly hidden, as inside most containers
            mount("/proc", f"{self.top}/proc", flags=MS_BIND | MS_REC)
        if self._is_root:
            points = mount_points(f"{self.top}/")
            for name in SYSTEM:
                path = f"{self.top}/{name}"
                if os.path.isdir(path) and not os.path.islink(path) and not self._overlay(f"/{name}", points):
                    set_read_only(path, recursive=True)

    def _add(self, item: Obj) -> str:
        source, target = item.get("source", ""), item["target"]
        if item.get("part"):
            source = f"/proc/self/fd/{open_part(source, item['part'])}"
        inside = self._place(target, not source or os.path.isdir(source))
        if inside == "/" or f"{inside}/".startswith("/proc/"):
            raise Refusal("StartError", f"nothing can be mounted at {target}: every container has its own {inside}")
        place = self.top + inside
        if source:
            mount(source, place, flags=MS_BIND | MS_REC)
            if item.get("read_only"):
                set_read_only(place, recursive=True)
        else:
            size = f",size={item['size']}" if item.get("size") else ""
            mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=1777{size}")
        self._own.add(inside)
        return inside

    def _place(self, target: str, is_directory: bool) -> str:
        """The mount point for `target`, made where it is missing; never made in a directory of the host."""
        inside, missing = resolve(self.top, target)
        if not missing:
            return inside
        if not (self._owned(inside) and self._make_missing(inside, missing, is_directory)):
            if not self._overlay(inside, mount_points(f"{self.top}{inside}/")):
                self._cover(inside)
            if not self._make_missing(inside, missing, is_directory):
                raise OSError(errno.EACCES, f"cannot make the mount point {target}")
        self._own.add(f"{inside.rstrip('/')}/{missing[0]}")
        return f"{inside.rstrip('/')}/{'/'.join(missing)}"

    def _owned(self, inside: str) -> bool:
        """Whether the innermost thing mounted at or above a path is the pod's."""
        while inside not in self._own:
            if inside.count("/") == 1:  # a directory of the host, directly under the root
                return False
            inside = os.path.dirname(inside)
        return True

    def _make_missing(self, inside: str, missing: list[str], is_directory: bool) -> bool:
        path = self.top + inside
        try:
            for number, name in enumerate(missing, 1):
                path = f"{path}/{name}"
                _make(path, is_directory or number < len(missing))
        except OSError:
            return False
        return True

    def _overlay(self, inside: str, points: list[str]) -> bool:
        """Lay a private writable layer over a directory, on disk or else in memory; False where it is refused.

        What is mounted below would be hidden by it, and is bound again over it.
        """
        place = self.top + inside
        below = [path for path in points if path.startswith(f"{place}/")]
        hidden = [(path, os.open(path, os.O_PATH)) for path in _outermost(below)]
        done = False
        for in_memory in (False, True):
            try:
                mount("overlay", place, "overlay", data=self._layer(self._store(in_memory), place))
                done = True
                break
            except OSError as error:
                self.overlay_refusal = describe(error)
        for path, fd in hidden:
            if done:
                mount(f"/proc/self/fd/{fd}", path, flags=MS_BIND | MS_REC)
            os.close(fd)
        if done:
            self._own.add(inside)
        return done

    def _store(self, in_memory: bool) -> str:
        self._layers += 1
        store = f"{self.base}/layers/{self._layers}"
        os.makedirs(store, exist_ok=True)
        if in_memory:
            mount("tmpfs", store, "tmpfs")
        return store

    def _layer(self, store: str, place: str) -> str:
        upper, work = f"{store}/upper", f"{store}/work"
        for path in (upper, work):
            os.makedirs(path, exist_ok=True)
        os.chmod(upper, stat.S_IMODE(os.stat(place).st_mode))
        parts = f"lowerdir={_escaped(place)},upperdir={_escaped(upper)},workdir={_escaped(work)}"
        return parts if self._is_root else f"{parts},userxattr"

    def _cover(self, inside: str) -> None:
        """Where overlay is refused: a private directory that shows the same entries."""
        store = self._store(False)
        entries = _entries(self.top + inside, lambda entry: False)
        _make_places(entries, store)
        self._show(entries, store)
        mount(store, self.top + inside, flags=MS_BIND | MS_REC)
        self._own.add(inside)

    def _forbid_writing(self, added: list[str]) -> None:
        """Everything but volumes, devices and the kernel's own; the mount points are all made by now."""
        spared = [self.top + path for path in ("/dev", "/proc", "/sys", *added)]
        for path in (self.top, *mount_points(f"{self.top}/")):
            if not any(path == other or path.startswith(f"{other}/") for other in spared):
                set_read_only(path, recursive=False)


def _entries(directory: str, skip: Callable[[os.DirEntry[str]], bool]) -> list[os.DirEntry[str]]:
    with os.scandir(directory) as found:
        return [entry for entry in found if not skip(entry)]


def _make_places(entries: list[os.DirEntry[str]], target: str) -> None:
    """Links as they are, and for everything else something to mount it on."""
    for entry in entries:
        place = f"{target}/{entry.name}"
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), place)
        else:
            _make(place, entry.is_dir())


def open_part(volume: str, part: str) -> int:
    """A part of a volume, made where it is missing; never through a link, which a program may have put in our way."""
    here = os.open(volume, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    mode = stat.S_IMODE(os.fstat(here).st_mode)
    for name in part.split("/"):
        if name in ("", "."):
            continue
        with Ignoring(FileExistsError):
            os.mkdir(name, dir_fd=here)
            os.chmod(name, mode, dir_fd=here)
        below = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        os.close(here)
        here = below
        if name == ".." or stat.S_ISLNK(os.fstat(here).st_mode):
            raise OSError(errno.ELOOP, f"subPath {part} leads through a link or out of its volume")
    return here


def remove_tree(path: str) -> None:
    """Remove a directory with all it holds, overlay's unreadable work directories included; two may do so at once."""
    with Ignoring(FileNotFoundError):
        os.chmod(path, 0o700)
        with os.scandir(path) as found:
            entries = list(found)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.path)
            else:
                with Ignoring(FileNotFoundError):
                    os.unlink(entry.path)
        os.rmdir(path)


def _make(path: str, is_directory: bool) -> None:
    if is_directory:
        with Ignoring(FileExistsError):
            os.mkdir(path)
    else:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


USELESS = frozenset(
    """
    autofs block bsg btrfs-control bus char console core cpu cpu_dma_latency disk hpet hugepages hwrng initctl
    input kmsg log loop-control mapper mcelog mem nvram port ppp rfkill rtc rtc0 shm snapshot uhid uinput
    userfaultfd vga_arbiter vhci vhost-net vhost-vsock vsock
    """.split()  # noqa: SIM905 - a table, read as one
)


def _useless_device(entry: os.DirEntry[str]) -> bool:
    """The host's consoles, disks and management, and what the user may not open; accelerators of every make stay."""
    name = entry.name
    if name in USELESS or name.startswith(("ttyS", "vcs")) or (name.startswith("tty") and name[3:4].isdigit()):
        return True
    mode = entry.stat(follow_symlinks=False).st_mode
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        return True
    return stat.S_ISCHR(mode) and not os.access(entry.path, os.R_OK | os.W_OK)


def mount_points(prefix: str) -> list[str]:
    """What is mounted below a path, in the order of mounting."""
    wanted = os.fsencode(prefix)
    escapes = ((b"\\", b"\\134"), (b" ", b"\\040"), (b"\t", b"\\011"), (b"\n", b"\\012"))
    for sign, code in escapes:
        wanted = wanted.replace(sign, code)
    found = []
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            path = line.split(b" ", 5)[4]
            if path.startswith(wanted):
                for sign, code in escapes[::-1]:
                    path = path.replace(code, sign)
                found.append(os.fsdecode(path))
    return found


def _outermost(paths: list[str]) -> list[str]:
    return [path for path in dict.fromkeys(paths) if not any(path.startswith(f"{other}/") for other in paths)]


def resolve(top: str, target: str) -> tuple[str, list[str]]:
    """Follow a path as a process with that root would: the part that exists, and the names that are missing."""
    pending = [name for name in target.split("/") if name not in ("", ".")][::-1]
    inside = ""
    links = 0
    while pending:
        name = pending.pop()
        if name == "..":
            inside = os.path.dirname(inside).rstrip("/")
            continue
        candidate = f"{inside}/{name}"
        try:
            mode = os.lstat(top + candidate).st_mode
        except FileNotFoundError:
            return inside or "/", [name, *pending[::-1]]
        if not stat.S_ISLNK(mode):
            inside = candidate
            continue
        links += 1
        if links > 40:
            raise OSError(errno.ELOOP, f"too many links in {target}")
        link = os.readlink(top + candidate)
        inside = "" if link.startswith("/") else inside
        pending += [part for part in link.split("/") if part not in ("", ".")][::-1]
    return inside or "/", []


# ------------------------------------------------------------------------------------------------------------- program

IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTERM)
"""What a terminal, its end or the end of a session sends to everybody; a shim goes on."""
STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NOT_FOUND = "NotFound"


def find_program(name: str, env: dict[str, str]) -> str:
    """Where a command lies, in the words that a container runtime has for failing to find it."""
    if "/" in name:
        try:
            os.stat(name)
        except OSError as error:
            reason = NOT_FOUND if error.errno == errno.ENOENT else "StartError"
            raise Refusal(reason, f'exec: "{name}": stat {name}: {_plain(error)}') from None
        return name
    for directory in env.get("PATH", STANDARD_PATH).split(":"):
        path = f"{directory or '.'}/{name}"
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise Refusal(NOT_FOUND, f'exec: "{name}": executable file not found in $PATH')


def _plain(error: OSError) -> str:
    return os.strerror(error.errno or 0).lower()


def become(body: Obj, terminal: bool, stdio: Sequence[int]) -> None:
    """Stdio, session and user of a program that is about to be executed."""
    os.setsid()
    if terminal:
        fcntl.ioctl(stdio[0], termios.TIOCSCTTY, 0)
    # First out of the way of 0, 1 and 2, then into place: one may stand where another has to go.
    for number, fd in enumerate([fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in stdio]):
        os.dup2(fd, number)
    if body.get("user") is not None:
        own_streams(body["user"])
    if body.get("groups") or body.get("user") is not None or body.get("group") is not None:
        os.setgroups(body.get("groups") or [])
    if body.get("group") is not None:
        os.setgid(body["group"])
    if body.get("user") is not None:
        os.setuid(body["user"])
    os.umask(0o022)


def own_streams(user: int) -> None:
    """Give pipes and terminals to the program's user, or it could not open /dev/stdout."""
    for fd in (0, 1, 2):
        mode = os.fstat(fd).st_mode
        if stat.S_ISFIFO(mode) or os.isatty(fd):
            with Ignoring(OSError):
                os.fchown(fd, user, -1)


def execute(argv: Sequence[str], env: dict[str, str]) -> NoReturn:
    """Become the program; a `Refusal` says why not."""
    if not argv:
        raise Refusal("StartError", "no command is given")
    path = find_program(argv[0], env)
    for number in (*IGNORED, signal.SIGPIPE, signal.SIGXFSZ):  # the last two by Python; a program would inherit it
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    variables = {_bytes(name): _bytes(value) for name, value in env.items()}
    try:
        os.execve(_bytes(path), [_bytes(word) for word in argv], variables)
    except OSError as error:
        raise Refusal("StartError", f'exec: "{argv[0]}": {_plain(error)}') from None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def enter_directory(path: str) -> None:
    """The working directory, made when it is missing, as container runtimes do."""
    try:
        os.makedirs(path, exist_ok=True)
        os.chdir(path)
    except OSError as error:
        raise Refusal("StartError", f'cannot enter the working directory "{path}": {_plain(error)}') from None


def report(fd: int, **facts: Any) -> None:
    with Ignoring(BrokenPipeError):  # whoever waited for it is dead; what has to be done next is the same
        os.write(fd, encode(facts).encode() + b"\n")


# ---------------------------------------------------------------------------------------------------------------- init

END_ALL = signal.SIGABRT
"""Asks an init that does not own its PID namespace to kill all it has ever started."""
NOT_FORWARDED = frozenset(
    getattr(signal, f"SIG{name}")
    for name in ["ABRT", "BUS", "CHLD", "FPE", "ILL", "KILL", "SEGV", "STOP", "SYS", "TRAP", "TSTP", "TTIN", "TTOU"]
)
FORWARDED = tuple(sorted(set(signal.valid_signals()) - NOT_FORWARDED))


def signal_number(name: str) -> int:
    """The number of `SIGTERM` or `SIGRTMIN+3`, as manifests spell signals."""
    sign = "-" if "-" in name else "+"
    base, _, offset = name.partition(sign)
    known = base.startswith("SIG") and not base.startswith("SIG_") and (offset or "0").isdigit()
    number = int(getattr(signal, base, 0)) + int(sign + (offset or "0")) if known else 0
    if number not in signal.valid_signals():
        raise Refusal("BadRequest", f"unknown signal {name}")
    return number


class Init:
    """The first process of a container: builds its root, starts the program, reaps, forwards signals, tells the code.

    Where it is PID 1 of a namespace the kernel kills the rest with it. Otherwise (shared PID namespace, no namespaces)
    it is a child subreaper and kills until it has no child left.
    """

    def __init__(self, body: Obj, stdio: Sequence[int], report_fd: int, go_fd: int) -> None:
        self.body = body
        self.stdio = stdio
        self.report_fd = report_fd
        self.go_fd = go_fd
        self.root: Root | None = None
        self.user: tuple[int, int] | None = None
        """The ordinary user's own ids, to be had again inside."""
        self.owns_processes = True

    def run(self) -> NoReturn:
        try:
            os.umask(0o022)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD, END_ALL, *FORWARDED])
            prctl(PR_SET_NAME, b"tide-init")
            self._settle()
            program = self._start()
        except Refusal as refusal:
            report(self.report_fd, error=str(refusal))
            os._exit(128)
        except OSError as error:
            report(self.report_fd, error=describe(error))
            os._exit(128)
        for fd in set(self.stdio):
            os.close(fd)  # a reader of the program's output must see its end
        report(self.report_fd, started=time.time(), fresh_proc=bool(self.root and self.root.fresh_proc))
        code, number = self._supervise(program)
        if not self.owns_processes:
            kill_children()
        report(self.report_fd, code=code, signal=number)
        os._exit(code)

    def _settle(self) -> None:
        if self.root:
            unshare(CLONE_NEWNS)
            path = self.body["env"].get("PATH", STANDARD_PATH)
            self.root.build(self.body.get("mounts") or (), bool(self.body.get("read_only_root")), path)
            if not self.owns_processes and not self.root.fresh_proc:  # another's numbers would be taken for ours
                raise Refusal("StartError", "containers cannot share their processes: a fresh /proc is refused here")
        enter_directory(self.body["cwd"])
        if self.user:
            own_user_namespace(self.user)
        if not self.owns_processes:
            prctl(PR_SET_CHILD_SUBREAPER, 1)
        # Only now is the shim the parent; asked for earlier, the signal would come when the go-between ends.
        if not os.read(self.go_fd, 1):
            os._exit(128)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL if self.owns_processes else END_ALL)
        if hung_up(self.go_fd):  # the shim died before that could be noticed
            os._exit(128)

    def _start(self) -> int:
        failed, failing = os.pipe()
        program = Loop.fork(lambda: self._program(failing))
        os.close(failing)
        with open(failed, "rb") as file:
            text = file.read()  # ends when the program is executed, by close-on-exec
        if text:
            raise Refusal("StartError", text.decode())
        return program

    def _program(self, failing: int) -> None:
        try:
            become(self.body, bool(self.body.get("tty")), self.stdio)
            if not self.owns_processes:
                prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            execute(self.body["argv"], self.body["env"])
        except Refusal as refusal:
            cure = self.body.get("cure") if refusal.reason == NOT_FOUND else None
            os.write(failing, (f"{refusal}: {cure}" if cure else str(refusal)).encode())
        except OSError as error:
            os.write(failing, describe(error).encode())
        os._exit(128)

    def _supervise(self, program: int) -> tuple[int, int]:
        """Exit code and signal of the program, however long it takes."""
        while True:
            number = signal.sigwait([signal.SIGCHLD, END_ALL, *FORWARDED])
            if number == signal.SIGCHLD:
                ended = _reap_until(program)
                if ended:
                    return ended
            elif number == END_ALL:
                os.kill(program, signal.SIGKILL)
            else:
                os.kill(program, number)


def _reap_until(program: int) -> tuple[int, int] | None:
    """Reap whoever has ended; exit code and signal of the program when it was among them."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if not pid:
            return None
        if pid == program:
            return exit_code(status)


def hung_up(fd: int) -> bool:
    """Whether the other end of a pipe is gone."""
    waiting = select.poll()
    waiting.register(fd, 0)
    return bool(waiting.poll(0))


def exit_code(status: int) -> tuple[int, int]:
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return (128 + number, number) if number else (os.WEXITSTATUS(status), 0)


def kill_children() -> None:
    """Kill until no child is left: those of the killed become children of the subreaper, and their turn comes."""
    while True:
        for pid in children_of(os.getpid()):
            with Ignoring(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def children_of(parent: int) -> list[int]:
    return [pid for pid, other in parents("/proc").items() if other == parent]


def parents(proc: str) -> dict[int, int]:
    """Every process that a /proc shows, with its parent."""
    found = {}
    try:
        names = [name for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return {}
    for name in names:
        try:
            with open(f"{proc}/{name}/stat", "rb") as file:
                found[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            continue  # ended meanwhile
    return found


def pause(go_fd: int) -> NoReturn:
    """PID 1 of a process namespace that all containers of a pod share: reaps orphans, for ever."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    prctl(PR_SET_NAME, b"tide-pause")
    if os.read(go_fd, 1):
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        while not hung_up(go_fd):
            signal.sigwait([signal.SIGCHLD])
            _reap_until(0)
    os._exit(0)


# ---------------------------------------------------------------------------------------------------------------- logs

LINE_LIMIT = 16 * 1024
LOG_SIZE = 10 * 1024 * 1024
LOG_FILES = 5


def stamp(now: int) -> bytes:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 10**9)).encode() + b".%09dZ" % (now % 10**9)


def log_lines(prefix: bytes, text: bytes, at_end: bool) -> tuple[bytes, bytes]:
    """Complete lines in the format of container runtimes, and the rest that waits for its end.

    `prefix` is time and stream. A line longer than the limit is written in parts marked P, the last one F. What a
    stream ends with is all P when no line break came: whoever reads the log adds none.
    """
    *lines, rest = text.split(b"\n")
    parts = []
    for line in lines:
        while len(line) > LINE_LIMIT:
            parts.append(b"%s P %s\n" % (prefix, line[:LINE_LIMIT]))
            line = line[LINE_LIMIT:]
        parts.append(b"%s F %s\n" % (prefix, line))
    while len(rest) > LINE_LIMIT:
        parts.append(b"%s P %s\n" % (prefix, rest[:LINE_LIMIT]))
        rest = rest[LINE_LIMIT:]
    if at_end and rest:
        parts.append(b"%s P %s\n" % (prefix, rest))
        rest = b""
    return b"".join(parts), rest


class Log:
    """A container's log file: complete, in order, rotated; what cannot be written now is kept and written later."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.trouble = ""
        self._fd = -1
        self._size = 0
        self._last = 0
        self._rests: dict[str, bytes] = {}
        self._pending = b""
        with Ignoring(OSError):  # tried again with the first line, and complained about then
            self._open()

    def feed(self, stream: str, data: bytes) -> bool:
        """Take what a stream gave (nothing: its end); False while the disk does not take it."""
        self._last = max(self._last, time.time_ns())
        prefix = stamp(self._last) + b" " + stream.encode()
        text, self._rests[stream] = log_lines(prefix, self._rests.get(stream, b"") + data, not data)
        self._pending += text
        return self.flush()

    def flush(self) -> bool:
        try:
            while self._pending:
                if self._fd < 0:
                    self._open()
                written = os.write(self._fd, self._pending)
                self._size += written
                self._pending = self._pending[written:]
        except OSError as error:
            self.trouble = (
                f"cannot write the log {self.path}: {_plain(error)}; the program waits until it can be written"
            )
            return False
        self.trouble = ""
        if self._size >= LOG_SIZE:
            self._size = 0
            with Ignoring(OSError):  # a longer file is better than none; tried again after as much again
                self._rotate()
        return True

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _open(self) -> None:
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self._fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        self._size = os.fstat(self._fd).st_size

    def _rotate(self) -> None:
        now = time.time_ns()
        moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now // 10**9))
        os.rename(self.path, f"{self.path}.{moment}.{now % 10**9:09d}")
        self.close()
        self._open()
        folder, name = os.path.split(self.path)
        old = sorted(entry for entry in os.listdir(folder) if entry.startswith(f"{name}."))
        for entry in old[: max(0, len(old) - LOG_FILES + 1)]:
            os.unlink(f"{folder}/{entry}")


# -------------------------------------------------------------------------------------------------------------- memory

SAMPLING = 0.2
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


def resident(proc: str, pids: Iterable[int]) -> int:
    """Bytes that processes hold, counting what they share once for each: cheap, and never too little."""
    total = 0
    for pid in pids:
        try:
            with open(f"{proc}/{pid}/statm", "rb") as file:
                total += int(file.read().split()[1]) * PAGE
        except (OSError, IndexError):
            continue
    return total


def proportional(proc: str, pids: Iterable[int]) -> int:
    """The same with shared memory counted once in all, as forked data loaders deserve: dear, and right."""
    total = 0
    for pid in pids:
        try:
            with open(f"{proc}/{pid}/smaps_rollup", "rb") as file:
                total += sum(int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:"))
        except OSError:
            total += resident(proc, [pid])
    return total


def processor_time(proc: str, pids: Iterable[int]) -> float:
    """Seconds that processes and the children they have waited for have used."""
    ticks = 0
    for pid in pids:
        try:
            with open(f"{proc}/{pid}/stat", "rb") as file:
                ticks += sum(map(int, file.read().rpartition(b")")[2].split()[11:15]))
        except OSError:
            continue
    return ticks / TICKS


def descendants(tree: dict[int, int], roots: Iterable[int]) -> set[int]:
    found = {pid for pid in roots if pid in tree}
    grown = True
    while grown:
        more = {pid for pid, parent in tree.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return found


GROUP_NOTE = "group.json"


class MemoryGroup:
    """A cgroup v2 of a container's own, where somebody has delegated the memory controller to us."""

    def __init__(self, path: str, limit: int) -> None:
        self.path = path
        for name, value in (("memory.max", limit), ("memory.swap.max", 0), ("memory.oom.group", 1)):
            try:
                self._write(name, str(value))
            except OSError:
                if name == "memory.max":
                    os.rmdir(path)
                    raise

    @classmethod
    def make(cls, own: str, name: str, limit: int) -> MemoryGroup | None:
        """Under the group we are in or, when that is a leaf, beside it; nothing where it is not allowed."""
        for parent in _parents_of_groups(own):
            if os.path.exists(f"{parent}/cgroup.subtree_control"):
                with Ignoring(OSError):
                    os.mkdir(f"{parent}/{name}")
                    return cls(f"{parent}/{name}", limit)
        return None

    @staticmethod
    def remove_left(own: str, name: str) -> None:
        """One that was made for a shim that was killed since."""
        for parent in _parents_of_groups(own):
            with Ignoring(OSError):
                os.rmdir(f"{parent}/{name}")

    def join(self) -> None:
        self._write("cgroup.procs", "0")

    def killed(self) -> bool:
        try:
            with open(f"{self.path}/memory.events") as file:
                return any(line.startswith("oom_kill ") and line.split()[1] != "0" for line in file)
        except OSError:
            return False

    def remove(self) -> None:
        with Ignoring(OSError):
            os.rmdir(self.path)

    def _write(self, name: str, text: str) -> None:
        fd = os.open(f"{self.path}/{name}", os.O_WRONLY)  # never made: a group without it limits nothing
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)


def _parents_of_groups(own: str) -> tuple[str, str]:
    return own, os.path.dirname(own)


def remove_groups(directory: str) -> None:
    """What a pod's shims have left of cgroups, by the notes that its containers have of them."""
    with Ignoring(FileNotFoundError):
        for name in os.listdir(f"{directory}/containers"):
            note = f"{directory}/containers/{name}/{GROUP_NOTE}"
            with Ignoring(FileNotFoundError), Ignoring(ValueError):
                MemoryGroup.remove_left(*read_json(note))
                os.unlink(note)


def own_group() -> str:
    """The directory of the cgroup v2 that the caller is in."""
    with Ignoring(OSError), open("/proc/self/cgroup") as file:
        for line in file:
            if line.startswith("0::"):
                return "/sys/fs/cgroup" + line[3:].strip().rstrip("/")
    return ""


# ----------------------------------------------------------------------------------------------------------- container

DRAIN = 2.0
"""Seconds that output may still come after the end, should somebody outside hold the stream."""
LAST_WORDS = 10.0
"""Seconds that one who is attached has to read what is left."""
READ_SIZE = 1 << 16


class Container:
    """One attempt to run a container, from the shim's side: streams, log, state and end."""

    def __init__(self, shim: Shim, body: Obj) -> None:
        self.shim = shim
        self.loop = shim.loop
        self.body = body
        self.name: str = body["name"]
        self.attempt: int = body["attempt"]
        self.waiting: list[Client] = []
        """Who asked for the start and wants to know how it went."""
        self.folder = f"{shim.directory}/containers/{self.name}"
        self.state: Obj = {"name": self.name, "attempt": self.attempt, "status": "starting"}
        self.pid = 0
        self.alive = True
        """Until its end is in the state file."""
        self.attachments: list[Attachment] = []
        self.execution_time = 0.0
        self.master = -1
        self.stdin = -1
        self.fresh_proc = False
        self.group: MemoryGroup | None = None
        self._end: tuple[int, int] | None = None
        self._reaped = False
        self._out_of_memory = False
        self._streams: dict[int, str] = {}
        self._stop_wanted: tuple[float, int] | None = None
        self._killer: Timer | None = None
        self._kill_due = 0.0
        self._report = self._go = -1
        self._report_text = b""
        self._closing: list[int] = []
        """Our ends of everything but the output streams."""
        self.log = Log(body["log"])

    # the start

    def start(self) -> None:
        try:
            self._start()
        except OSError as error:
            self._fail(f"cannot start the container: {describe(error)}")

    def _start(self) -> None:
        if self.body.get("memory_limit"):
            place = (own_group(), f"tide-{self.shim.uid}-{self.name}")
            write_json(f"{self.folder}/{GROUP_NOTE}", place)
            self.group = MemoryGroup.make(*place, self.body["memory_limit"])
        stdio = self._make_streams()
        self._report, reporting = os.pipe()
        waiting, self._go = os.pipe()
        self._closing += [self._report, self._go]
        os.set_blocking(self._report, False)
        try:
            init = Init(self.body, stdio, reporting, waiting)
            child = self.loop.fork(lambda: self._child(init))
        finally:
            for fd in {*stdio, reporting, waiting}:
                os.close(fd)
        self.loop.watch(self._report, select.POLLIN, lambda _: self.read_report())
        if self.shim.isolated:
            self.loop.children[child] = self._between_ended
        else:
            self.pid = child
            self._between_ended(0, None)
        self._watch_streams()

    def _make_streams(self) -> list[int]:
        """What the program gets as 0, 1 and 2; our ends are noted."""
        if self.body.get("tty"):
            self.master, slave = os.openpty()
            self._closing.append(self.master)
            os.set_blocking(self.master, False)
            self._streams[self.master] = "stdout"
            self.stdin = self.master if self.body.get("stdin") else -1
            return [slave, slave, slave]
        if self.body.get("stdin"):
            given, self.stdin = os.pipe()
            os.set_blocking(self.stdin, False)
            self._closing.append(self.stdin)
        else:
            given = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        stdio = [given]
        for stream in ("stdout", "stderr"):
            reading, writing = os.pipe()
            os.set_blocking(reading, False)
            self._streams[reading] = stream
            stdio.append(writing)
        return stdio

    def _child(self, init: Init) -> None:
        """In the go-between: it enters a PID namespace, leaves init to the shim and ends."""
        shim = self.shim
        close_others([*init.stdio, init.report_fd, init.go_fd, *shim.kept_fds()])
        try:
            if self.group:
                self.group.join()
            if not shim.isolated:
                init.owns_processes = False
                init.run()
            if shim.shared_pids >= 0:
                setns(shim.shared_pids, CLONE_NEWPID)
                init.owns_processes = False
            else:
                unshare(CLONE_NEWPID)
            init.user = shim.user
            init.root = Root(f"{self.folder}/root/{self.attempt}", shim.user is None, shim.shm)
            pid = Loop.fork(init.run)
        except OSError as error:
            report(init.report_fd, error=describe(error))
            os._exit(0)
        report(init.report_fd, pid=pid)
        os._exit(0)

    def _between_ended(self, status: int, usage: Any) -> None:
        self.read_report()
        if self.pid and self.alive:
            with Ignoring(BrokenPipeError):  # init is dead already; its end is on the way
                os.write(self._go, b".")
        elif self.alive and not self.state.get("finished"):
            self._fail("cannot start the container: it was killed before it began")

    def read_report(self) -> None:
        if self._report < 0:
            return
        try:
            data = os.read(self._report, READ_SIZE)
        except BlockingIOError:
            return
        if not data:
            self.loop.forget(self._report)
            return
        *lines, self._report_text = (self._report_text + data).split(b"\n")
        for line in lines:
            self._take(decode(line))

    def _take(self, facts: Obj) -> None:
        if "pid" in facts:
            self.pid = facts["pid"]
        elif "error" in facts:
            self._fail(facts["error"])
        elif "started" in facts:
            self.fresh_proc = facts["fresh_proc"]
            self._change(status="running", pid=self.pid, started=facts["started"])
            self._answer("")
            self.shim.sample_memory()
            if self._stop_wanted:
                self.stop(*self._stop_wanted)
        else:
            self._end = (facts["code"], facts["signal"])

    def _fail(self, message: str) -> None:
        self._change(status="exited", finished=time.time(), exit_code=128, reason="StartError", message=message)
        self._answer(message)
        if not self.pid:
            self._close()

    def _answer(self, error: str) -> None:
        waiting, self.waiting = self.waiting, []
        for client in waiting:
            if error:
                client.refuse("StartError", error)
            else:
                client.send({"ok": True})

    # the streams

    def _watch_streams(self) -> None:
        def watch(fd: int) -> None:
            self.loop.watch(fd, select.POLLIN, lambda _: self._read(fd))

        for fd in self._streams:
            watch(fd)

    def _read(self, fd: int) -> None:
        try:
            data = os.read(fd, READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""  # how a terminal says that nobody has it open any more
        stream = self._streams[fd]
        if data:
            for attachment in list(self.attachments):
                attachment.show(stream, data)
        else:
            self.loop.forget(fd)
            del self._streams[fd]
            if fd != self.master:
                os.close(fd)
        if not self.log.feed(stream, data):
            self._wait_for_disk()
        if not data:
            self._maybe_finish()

    def _wait_for_disk(self) -> None:
        """Read no more: the program blocks on its pipe, and not a line is lost."""
        for fd in self._streams:
            self.loop.forget(fd)
        self._change(trouble=self.log.trouble)
        self.loop.after(1.0, self._try_disk)

    def _try_disk(self) -> None:
        if not self.log.flush():
            self.loop.after(1.0, self._try_disk)
            return
        self._change(trouble="")
        self._watch_streams()
        if self._reaped:
            self.loop.after(DRAIN, self._drained)
        self._maybe_finish()

    def close_stdin(self) -> None:
        if self.stdin >= 0 and self.stdin != self.master:
            self._closing.remove(self.stdin)
            os.close(self.stdin)
        self.stdin = -1

    # the end

    def stop(self, grace: float, number: int) -> None:
        if self._reaped:
            return
        if self.state["status"] == "starting":  # nobody there yet to take a signal
            self._stop_wanted = (grace, number)
            if grace <= 0:
                self.kill()
            return
        if grace > 0:
            os.kill(self.pid, number)
        due = time.monotonic() + grace
        if self._killer and self._kill_due <= due:
            return
        self.loop.cancel(self._killer)
        self._kill_due = due
        self._killer = self.loop.after(grace, self.kill)

    def kill(self) -> None:
        """Everything in the container, now."""
        if self.pid and not self._reaped:
            os.kill(self.pid, signal.SIGKILL if self.shim.owns_processes else END_ALL)

    def kill_for_memory(self) -> None:
        self._out_of_memory = True
        self.kill()

    def ended(self, status: int) -> None:
        """Init is gone, and with it every process of the container."""
        self.read_report()
        self._reaped = True
        self._end = self._end or (137, 9)
        self.state["finished"] = self.state.get("finished") or time.time()
        self.loop.cancel(self._killer)
        if not self.shim.owns_processes:  # otherwise the kernel has killed them with init
            commands = self.executions()
            for pid in (*commands, *descendants(parents("/proc"), commands)):  # a shell must not outlive its command
                with Ignoring(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if self._streams or self.log.trouble:
            self.loop.after(DRAIN, self._drained)
        self._maybe_finish()

    def _maybe_finish(self) -> None:
        if self._reaped and not self._streams and not self.log.trouble:
            self._publish_end()
            self._close()

    def _drained(self) -> None:
        """Somebody outside holds the output open, or the disk is full and what is in the pipes waits for it."""
        self._publish_end()
        if not self.log.trouble or self.shim.ending:
            self._close()

    def give_up(self) -> None:
        """Wait no longer for the disk: the pod is to go, maybe because it has filled that."""
        if self._reaped and self.log.trouble:
            self._drained()

    def _publish_end(self) -> None:
        if self.state["status"] == "exited":
            return
        code, number = self._end or (137, 9)
        reason = "Completed" if code == 0 else "Error"
        if self._out_of_memory or (self.group and code and self.group.killed()):
            code, number, reason = 137, 9, "OOMKilled"
        was_running = self.state["status"] == "running"
        self._change(status="exited", exit_code=code, signal=number, reason=reason)
        if not was_running:
            self._answer("it was stopped before it began")

    def _close(self) -> None:
        if not self.alive:
            return
        self.alive = False
        for attachment in list(self.attachments):
            attachment.end(self.state["exit_code"])
        for fd in {*self._closing, *self._streams}:
            self.loop.forget(fd)
            os.close(fd)
        self._streams.clear()
        self._report = self.stdin = self.master = -1
        self.log.close()
        if self.group:
            self.group.remove()
        self.shim.container_closed(self)

    def _change(self, **facts: Any) -> None:
        self.state.update(facts)
        self.shim.publish(self.state)

    # what it uses

    def processes(self) -> tuple[str, set[int]]:
        """A /proc and the container's processes in it, init left out."""
        own = f"/proc/{self.pid}/root/proc"
        if self.fresh_proc and self.shim.owns_processes:
            return own, set(parents(own)) - {1}
        if self.fresh_proc:
            tree = parents(own)
            inner = [inner_pid(pid) for pid in (self.pid, *self.executions())]
            return own, descendants(tree, inner) - {inner[0]}
        return "/proc", descendants(parents("/proc"), [self.pid, *self.executions()]) - {self.pid}

    def executions(self) -> list[int]:
        return [pid for pid, execution in self.shim.executions.items() if execution.container is self]

    def usage(self) -> Obj:
        proc, pids = self.processes()
        cpu = processor_time(proc, pids) + processor_time("/proc", [self.pid]) + self.execution_time
        return {"cpu": cpu, "memory": resident(proc, pids)}

    def check_memory(self) -> None:
        limit = self.body["memory_limit"]
        proc, pids = self.processes()
        if resident(proc, pids) > limit and proportional(proc, pids) > limit:
            self.kill_for_memory()


def inner_pid(pid: int) -> int:
    """A process's number in its own PID namespace."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            return next(int(line.split()[-1]) for line in file if line.startswith(b"NSpid:"))
    except (OSError, StopIteration):
        return 0


class Attachment:
    """Somebody who looks at a container's output and may type into it."""

    def __init__(self, container: Container, client: Client, message: Obj, fds: list[int]) -> None:
        self.container = container
        self.client = client
        self.loop = container.loop
        wanted = [name for name in ("stdin", "stdout", "stderr") if message.get(name)]
        if len(fds) != len(wanted):
            raise Refusal("BadRequest", "as many descriptors are needed as streams")
        self._fds = {name: os.dup(fds[number]) for number, name in enumerate(wanted)}
        self._pending = b""
        self._code: int | None = None
        self._outgoing: dict[str, bytes] = {name: b"" for name in ("stdout", "stderr") if name in self._fds}
        for fd in self._fds.values():
            os.set_blocking(fd, False)
        if "stdin" in self._fds and container.stdin >= 0:
            self.loop.watch(self._fds["stdin"], select.POLLIN, self._typed)
        container.attachments.append(self)
        client.on_close.append(self.close)

    def show(self, stream: str, data: bytes) -> None:
        if stream not in self._outgoing:
            return
        self._outgoing[stream] += data
        self._push(stream)
        if len(self._outgoing.get(stream, b"")) > MAX_BACKLOG:  # one who does not read must not stop the program
            self.close()

    def _push(self, stream: str) -> None:
        fd = self._fds[stream]
        try:
            self._outgoing[stream] = self._outgoing[stream][os.write(fd, self._outgoing[stream]) :]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        if self._outgoing[stream]:
            self.loop.watch(fd, select.POLLOUT, lambda _: self._push(stream))
        else:
            self.loop.forget(fd)
            self._maybe_end()

    def _typed(self, _: int) -> None:
        try:
            data = os.read(self._fds["stdin"], 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._pending += data
            self._pass_on()
            return
        self.loop.forget(self._fds["stdin"])
        if self.container.body.get("stdin_once"):
            self.container.close_stdin()

    def _pass_on(self) -> None:
        target = self.container.stdin
        if target < 0 or self not in self.container.attachments:
            return
        try:
            self._pending = self._pending[os.write(target, self._pending) :]
        except BlockingIOError:
            pass
        except OSError:
            self._pending = b""
        if self._pending:  # the program is slow: take no more until it has read this
            self.loop.forget(self._fds["stdin"])
            self.loop.after(0.02, self._pass_on)
        else:
            self.loop.watch(self._fds["stdin"], select.POLLIN, self._typed)

    def end(self, code: int) -> None:
        """The container is gone; whoever looks still gets all it had printed."""
        self._code = code
        self.loop.after(LAST_WORDS, self.close)
        self._maybe_end()

    def _maybe_end(self) -> None:
        if self._code is not None and not any(self._outgoing.values()):
            self.client.send({"exited": self._code})
            self.close()

    def close(self) -> None:
        if self not in self.container.attachments:
            return
        self.container.attachments.remove(self)
        for fd in self._fds.values():
            self.loop.forget(fd)
            os.close(fd)
        if "stdin" in self._fds and self.container.body.get("stdin_once"):
            self.container.close_stdin()


# ----------------------------------------------------------------------------------------------------------- execution


class Execution:
    """A command run in a container. It belongs to the shim: a connection that ends does not end it."""

    def __init__(self, container: Container, client: Client, message: Obj, fds: list[int]) -> None:
        self.container = container
        self.client = client
        self.loop = container.loop
        self.pid = 0
        self._argv = message["argv"]
        self._env = message.get("env")
        self._terminal = bool(message.get("tty"))
        self._status: int | None = None
        self._text = b""
        self._settled = self._failed = False
        if len(fds) not in (1, 3):
            raise Refusal("BadRequest", "a command needs three descriptors, or one for a terminal")
        stdio = fds * 3 if len(fds) == 1 else fds
        self._report, reporting = os.pipe()
        os.set_blocking(self._report, False)
        try:
            child = self.loop.fork(lambda: self._child(stdio, reporting))
        except OSError:
            os.close(self._report)
            raise
        finally:
            os.close(reporting)
        self.loop.watch(self._report, select.POLLIN, lambda _: self.read_report())
        container.shim.unsettled.append(self)
        if container.shim.isolated:
            self.loop.children[child] = lambda status, usage: self.read_report()
        else:
            self.pid = child
            container.shim.executions[child] = self

    def _child(self, stdio: Sequence[int], reporting: int) -> None:
        shim = self.container.shim
        close_others([*stdio, reporting])
        try:
            if self.container.group:
                self.container.group.join()
            if not shim.isolated:
                self._run(stdio, reporting, None)
            inside = f"/proc/{self.container.pid}/ns"
            user = os.open(f"{inside}/user", os.O_RDONLY) if shim.user else None
            spaces = [(os.open(f"{inside}/{name}", os.O_RDONLY), flag) for name, flag in INNER]
            for fd, flag in spaces:
                setns(fd, flag)
            pid = Loop.fork(lambda: self._run(stdio, reporting, user))
            report(reporting, pid=pid)
        except OSError as error:
            report(reporting, error=describe(error))
        os._exit(0)

    def _run(self, stdio: Sequence[int], reporting: int, user: int | None) -> NoReturn:
        body = self.container.body
        try:
            if user is not None:
                setns(user, CLONE_NEWUSER)
            os.chdir(body["cwd"])
            become(body, self._terminal, stdio)
            if not self.container.shim.isolated:
                prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                if hung_up(reporting):  # the shim is dead already
                    os._exit(126)
            execute(self._argv, body["env"] if self._env is None else self._env)
        except Refusal as refusal:
            report(reporting, error=str(refusal))
        except OSError as error:
            report(reporting, error=describe(error))
        os._exit(126)

    def read_report(self) -> None:
        """The pipe ends when the command is executed, or after the reason why it was not."""
        if self._settled:
            return
        try:
            while data := os.read(self._report, READ_SIZE):
                self._text += data
            at_end = True
        except BlockingIOError:
            at_end = False
        facts = [decode(line) for line in self._text.split(b"\n")[:-1]]
        for fact in facts:
            if "pid" in fact and not self.pid:
                self.pid = fact["pid"]
                self.container.shim.executions[self.pid] = self
        if at_end:
            self._settle([fact["error"] for fact in facts if "error" in fact])

    def _settle(self, errors: list[str]) -> None:
        self._settled = True
        self.container.shim.unsettled.remove(self)
        self.loop.forget(self._report)
        os.close(self._report)
        if errors:
            self._failed = True
            self.client.refuse("StartError", errors[0])
        else:
            self.client.send({"ok": True, "pid": self.pid})
            self._tell()

    def ended(self, status: int, usage: Any) -> None:
        self.container.execution_time += usage.ru_utime + usage.ru_stime
        self._status = status
        self.read_report()
        if self._settled:
            self._tell()

    def _tell(self) -> None:
        if self._status is not None and not self._failed:
            self.client.send({"exited": exit_code(self._status)[0]})


INNER = (("mnt", CLONE_NEWNS), ("pid", CLONE_NEWPID))

# ------------------------------------------------------------------------------------------------------------- sandbox

SYSCTLS = (
    ("ip_unprivileged_port_start", "0"),
    ("ping_group_range", "0 0"),
    ("ping_group_range", "0 2147483647"),  # refused where an ordinary user's network knows one group only
)
"""In the pod's own network anybody may listen on port 80, and ping, as container runtimes have it."""
PATIENCE = 5.0
"""Seconds for a network holder that is just being started again."""


def call_holder(path: str) -> socket.socket:
    """A connection to the network holder, waiting a while for one that is restarting."""
    deadline = time.monotonic() + PATIENCE
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(4 * PATIENCE)  # it may be busy with hundreds of others
        try:
            at_directory(path, connection.connect)
            return connection
        except OSError as error:
            connection.close()
            if time.monotonic() > deadline:
                why = f"the network holder does not answer at {path}: {_plain(error)}; `tide up` starts it again"
                raise Refusal("NetworkNotReady", why) from None
        time.sleep(0.02)


class Sandbox:
    """The namespaces that all containers of a pod share. The shim lives in them, so they live as long as it does."""

    def __init__(self, directory: str, body: Obj) -> None:
        self.body = body
        self.isolated = body.get("isolation", "namespaces") == "namespaces"
        self.user = (os.geteuid(), os.getegid()) if os.geteuid() != 0 and self.isolated else None
        self.shm = f"{directory}/shm"
        self.network: list[int] = []
        """The pods' network: its user (of ordinary users) and net namespaces, kept alive for the holder's successor."""

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
                _call("cannot set the domain", "setdomainname", name, len(name))
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
            raise Refusal("NetworkNotReady", f"the network holder failed: {describe(error)}") from None
        finally:
            connection.close()


def _add_memory(volume: Obj) -> None:
    group = volume.get("group")
    owner = "mode=0777" if group is None else f"mode=2777,gid={group}"
    os.makedirs(volume["path"], exist_ok=True)
    mount("tmpfs", volume["path"], "tmpfs", MS_NOSUID | MS_NODEV, f"size={volume['size']},{owner}")


# ---------------------------------------------------------------------------------------------------------------- shim

TICKET_LIFE = 60.0
LOOK_ROUND = 2.0


class Shim:
    """What the sockets are answered by."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        body = read_json(f"{directory}/body.json")
        self.uid: str = body["uid"]
        self.sandbox = Sandbox(directory, body)
        self.isolated = self.sandbox.isolated
        self.user = self.sandbox.user
        self.shm = self.sandbox.shm
        self.owns_processes = self.isolated and not body.get("share_processes")
        """Whether each container has a PID namespace of its own."""
        self.shared_pids = -1
        self.loop = Loop()
        self.loop.on_stranger = self._stranger_ended
        self.containers: list[Container] = []
        """Those that live."""
        self.executions: dict[int, Execution] = {}
        self.unsettled: list[Execution] = []
        """Executions that have not said yet whether they could start."""
        self.states: dict[str, Obj] = {}
        self._unwritten: list[Obj] = []
        self._watchers: list[Client] = []
        self._tickets: dict[str, Obj] = {}
        self._sampling = self.ending = False
        self._listeners: list[tuple[socket.socket, str]] = []
        self._exec_socket: str = body.get("exec_socket", "")
        self._requests: dict[str, Callable[[Client, Obj, list[int]], None]] = {
            "start": self._start,
            "stop": self._stop,
            "states": self._tell_states,
            "watch": self._watch,
            "exec": self._exec,
            "attach": self._attach,
            "resize": self._resize,
            "socket": self._socket,
            "allow": self._allow,
            "usage": self._usage,
            "namespaces": self._namespaces,
            "end": self._end,
        }

    def open(self) -> None:
        """The sandbox, the sockets, and last the file that says so."""
        self._recall()
        self.sandbox.enter()
        if self.isolated and not self.owns_processes:
            self._share_processes()
        self._listen(f"{self.directory}/shim.sock", self._serve, 0o600)
        if self._exec_socket:
            # For whoever a launcher runs as: the ticket is the right, and none but pods see this directory.
            self._listen(self._exec_socket, self._serve_ticket, 0o666)
        pid = os.getpid()
        start = start_time(pid) if sys.platform == "linux" else 0
        write_json(f"{self.directory}/shim.json", {"pid": pid, "boot": boot_id(), "start": start})
        self.loop.after(LOOK_ROUND, self._look_round)

    def _recall(self) -> None:
        """What a shim before this one has left: its containers died with it."""
        remove_groups(self.directory)
        for state in left_states(self.directory):
            if state["status"] != "exited":
                state.update(LOST, finished=time.time())
                self.publish(state)
            self.states[state["name"]] = state

    def _listen(self, path: str, serve: Callable[[Client, Obj, list[int]], None], mode: int) -> None:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with Ignoring(FileNotFoundError):
            os.unlink(path)
        at_directory(path, listener.bind)
        os.chmod(path, mode)
        listener.listen(64)
        listener.setblocking(False)
        self._listeners.append((listener, path))

        def accept(_: int) -> None:
            try:
                fd, _address = listener._accept()  # type: ignore[attr-defined]
            except OSError:
                return
            Client(self.loop, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fd), serve)

        self.loop.watch(listener.fileno(), select.POLLIN, accept)

    def _share_processes(self) -> None:
        """One PID namespace for all containers: its first process, and a descriptor to enter it by."""
        reading, writing = os.pipe()
        waiting, self._pause_go = os.pipe()

        def between() -> None:
            close_others([waiting, writing])
            unshare(CLONE_NEWPID)
            report(writing, pid=Loop.fork(lambda: pause(waiting)))
            os._exit(0)

        child = self.loop.fork(between)
        os.close(writing)
        os.close(waiting)
        os.waitpid(child, 0)
        with open(reading, "rb") as file:
            text = file.readline()
        if not text:
            raise Refusal("SandboxError", "cannot make a PID namespace for the containers to share")
        self.shared_pids = os.open(f"/proc/{decode(text)['pid']}/ns/pid", os.O_RDONLY)
        os.write(self._pause_go, b".")

    def kept_fds(self) -> list[int]:
        return [self.shared_pids] if self.shared_pids >= 0 else []

    # states

    def publish(self, state: Obj) -> None:
        """Remember, write down and tell a container's state."""
        known = self.states.get(state["name"])
        if known is None or known["attempt"] <= state["attempt"]:
            self.states[state["name"]] = state
        if state["status"] == "starting":
            return
        self._write(state)
        for client in list(self._watchers):
            client.send({"state": state})

    def _write(self, state: Obj) -> None:
        try:
            os.makedirs(f"{self.directory}/containers/{state['name']}", exist_ok=True)
            write_json(f"{self.directory}/containers/{state['name']}/{state['attempt']}.json", state)
        except FileNotFoundError:
            pass  # the pod's directory is gone, and nobody will ask
        except OSError as error:  # a full disk: the watchers know already, the file follows
            complain(f"cannot write the state of {state['name']}: {describe(error)}")
            if not self._unwritten:
                self.loop.after(1.0, self._write_again)
            if state not in self._unwritten:
                self._unwritten.append(state)

    def _write_again(self) -> None:
        states, self._unwritten = self._unwritten, []
        for state in states:
            self._write(state)

    def container_closed(self, container: Container) -> None:
        self.containers.remove(container)
        if self.isolated:
            self.sweep(f"{container.folder}/root/{container.attempt}")
        elif not self.containers:
            self._kill_orphans()
        if self.ending and not self.containers:
            self.loop.done = True

    def sweep(self, path: str) -> None:
        """Remove a dead container's root, beside the loop."""

        def work() -> None:
            close_others([])
            remove_tree(path)
            os._exit(0)

        with Ignoring(OSError):  # it goes with the pod's directory
            self.loop.fork(work)

    def _kill_orphans(self) -> None:
        """Without PID namespaces, what outlived its init has become the shim's own child."""
        for pid in children_of(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue

    def _stranger_ended(self, pid: int, status: int, usage: Any) -> None:
        """A process that a go-between left to us; its number may still wait in the pipe."""
        for container in self.containers:
            container.read_report()
        for unsettled in list(self.unsettled):
            unsettled.read_report()
        for container in list(self.containers):
            if container.pid == pid:
                container.ended(status)
        execution = self.executions.pop(pid, None)
        if execution:
            execution.ended(status, usage)

    def sample_memory(self) -> None:
        if not self._sampling and self._limited():
            self._sampling = True
            self.loop.after(SAMPLING, self._sample)

    def _sample(self) -> None:
        self._sampling = False
        for container in self._limited():
            container.check_memory()
        self.sample_memory()

    def _limited(self) -> list[Container]:
        return [
            container
            for container in self.containers
            if container.body.get("memory_limit") and not container.group and container.state["status"] == "running"
        ]

    def _look_round(self) -> None:
        """A pod that was removed while nobody could tell the shim needs it no more."""
        if not os.path.exists(f"{self.directory}/body.json"):
            self._end_all()
        self.loop.after(LOOK_ROUND, self._look_round)

    # requests

    def _serve(self, client: Client, message: Obj, fds: list[int]) -> None:
        act = self._requests.get(message.get("do", ""))
        if not act:
            raise Refusal("BadRequest", f"unknown request {message.get('do')!r}")
        act(client, message, fds)

    def _serve_ticket(self, client: Client, message: Obj, fds: list[int]) -> None:
        granted = self._tickets.pop(message["ticket"], None)
        if not granted or time.monotonic() > granted["until"]:
            raise Refusal("Forbidden", "this ticket was used before, has expired or was never given")
        self._exec(client, granted, fds)

    def _running(self, message: Obj) -> Container:
        name = message["container"]
        for container in self.containers:
            if container.name == name and container.state["status"] == "running":
                return container
        raise Refusal("NotRunning", f'container "{name}" is not running')

    def _start(self, client: Client, message: Obj, fds: list[int]) -> None:
        name, attempt = message["container"], message["attempt"]
        current = next((c for c in self.containers if c.name == name and c.state["status"] != "exited"), None)
        if current and current.attempt == attempt:  # asked again by the successor of an agent that was killed
            if current.state["status"] == "running":
                client.send({"ok": True})
            else:
                current.waiting.append(client)
            return
        if current or self.ending:
            raise Refusal("AlreadyRunning", f'container "{name}" is {"ending" if self.ending else "already running"}')
        container = Container(self, read_json(f"{self.directory}/containers/{name}/{attempt}.body.json"))
        container.waiting.append(client)
        self.containers.append(container)
        self.publish(container.state)
        container.start()

    def _stop(self, client: Client, message: Obj, fds: list[int]) -> None:
        number = signal_number(message.get("signal", "SIGTERM"))
        name, grace = message["container"], float(message["grace"])
        for container in self.containers:
            if container.name == name:
                container.stop(grace, number)
        client.send({"ok": True})

    def _tell_states(self, client: Client, message: Obj, fds: list[int]) -> None:
        states = [state for state in self.states.values() if state["status"] != "starting"]
        client.send({"ok": True, "states": states})

    def _watch(self, client: Client, message: Obj, fds: list[int]) -> None:
        self._tell_states(client, message, fds)
        self._watchers.append(client)
        client.on_close.append(lambda: self._watchers.remove(client))

    def _exec(self, client: Client, message: Obj, fds: list[int]) -> None:
        try:
            Execution(self._running(message), client, message, fds)
        except OSError as error:
            raise Refusal("StartError", f"cannot start the command: {describe(error)}") from None

    def _attach(self, client: Client, message: Obj, fds: list[int]) -> None:
        Attachment(self._running(message), client, message, fds)
        client.send({"ok": True})

    def _resize(self, client: Client, message: Obj, fds: list[int]) -> None:
        container = self._running(message)
        if container.master < 0:
            raise Refusal("NoTerminal", f'container "{container.name}" has no terminal')
        size = struct.pack("HHHH", message["height"], message["width"], 0, 0)
        fcntl.ioctl(container.master, termios.TIOCSWINSZ, size)
        client.send({"ok": True})

    def _socket(self, client: Client, message: Obj, fds: list[int]) -> None:
        kind = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}[message["kind"]]
        made = socket.socket(socket.AF_INET, kind)
        client.send({"ok": True}, [made.fileno()])
        made.close()

    def _allow(self, client: Client, message: Obj, fds: list[int]) -> None:
        self._running(message)
        now = time.monotonic()
        self._tickets = {ticket: what for ticket, what in self._tickets.items() if what["until"] > now}
        self._tickets[message["ticket"]] = dict(message, until=now + TICKET_LIFE)
        client.send({"ok": True})

    def _usage(self, client: Client, message: Obj, fds: list[int]) -> None:
        running = [container for container in self.containers if container.state["status"] == "running"]
        client.send({"ok": True, "usage": {container.name: container.usage() for container in running}})

    def _namespaces(self, client: Client, message: Obj, fds: list[int]) -> None:
        if not self.sandbox.network:
            raise Refusal("NoNetwork", "this pod has no network of its own")
        client.send({"ok": True}, self.sandbox.network)

    def _end(self, client: Client, message: Obj, fds: list[int]) -> None:
        client.send({"ok": True})
        self._end_all()

    def _end_all(self) -> None:
        self.ending = True
        for container in list(self.containers):
            container.stop(0, signal.SIGKILL)
            container.give_up()
        self.loop.done = not self.containers

    def close(self) -> None:
        for listener, path in self._listeners:
            listener.close()
            with Ignoring(OSError):
                os.unlink(path)


LOST = {"status": "exited", "exit_code": 137, "signal": 9, "reason": "Error", "pid": 0}
"""What is known of a container whose shim died: it was killed with it."""


def left_states(directory: str) -> list[Obj]:
    """The newest state of each container that is on disk."""
    found: dict[str, Obj] = {}
    try:
        names = os.listdir(f"{directory}/containers")
    except OSError:
        return []
    for name in names:
        for entry in os.listdir(f"{directory}/containers/{name}"):
            attempt = entry[: -len(".json")]
            if entry.endswith(".json") and attempt.isdigit():
                with Ignoring(ValueError):  # cut short by the end of the machine
                    state = read_json(f"{directory}/containers/{name}/{entry}")
                    if name not in found or found[name]["attempt"] < state["attempt"]:
                        found[name] = state
    return list(found.values())


def detach(directory: str) -> int:
    """Leave the caller's session and terminal; what it reads at the end of the start comes through the descriptor."""
    if os.fork():
        os._exit(0)
    os.setsid()
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    ready = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 10)
    log = os.open(f"{directory}/shim.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    null = os.open("/dev/null", os.O_RDONLY)
    for fd, place in ((null, 0), (log, 1), (log, 2)):
        os.dup2(fd, place)
    close_others([ready])
    prctl(PR_SET_NAME, b"tide-shim")
    os.chdir("/")
    os.umask(0o022)
    return ready


def lock(directory: str) -> None:
    """One shim per pod, even when an agent was killed while it started one and its successor starts another."""
    fd = os.open(f"{directory}/shim.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Refusal("AlreadyRunning", "the pod has a shim already") from None


def main(directory: str) -> None:
    ready = detach(directory)
    try:
        lock(directory)
        shim = Shim(directory)
        shim.open()
    except Refusal as refusal:
        report(ready, error=str(refusal), reason=refusal.reason)
        return
    except (OSError, KeyError, ValueError) as error:
        report(ready, error=f"cannot start the pod's shim: {error}", reason="SandboxError")
        return
    report(ready, ok=True, pid=os.getpid())
    os.close(ready)
    shim.loop.run()
    shim.close()


if __name__ == "__main__":
    main(sys.argv[1])
