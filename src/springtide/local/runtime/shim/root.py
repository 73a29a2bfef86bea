# SPDX-License-Identifier: Apache-2.0
"""A container's root: host directories bound into a tree of its own, private directories, volumes, missing mount
points."""

from __future__ import annotations

import errno
import os
import stat

from springtide.local.directory_trees import remove_tree
from springtide.local.runtime.shim.kernel import (
    MNT_DETACH,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    MS_UNBINDABLE,
    Ignoring,
    Refusal,
    call_kernel,
    describe,
    mount,
    set_read_only,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Obj = dict[str, Any]


SYSTEM = ("bin", "etc", "lib", "lib32", "lib64", "libx32", "opt", "sbin", "usr", "var")
"""Directories of the host that a pod run by root can read but never write."""
SHARED_LIMIT = 256
"""Maximum number of a directory's entries that are bound one by one; each takes a mount."""
PRIVATE = {"tmp": 0o1777, "root": 0o700}
"""Directories private to a container, on disk."""
PASS = 0o011
IN_MEMORY = {"dev": "mode=755", "run": "mode=755,size=10%"}
OTHERS = frozenset(("boot", "lost+found", "proc", *PRIVATE, *IN_MEMORY))
"""Entries of the host's root that a container does not see."""


class Root:
    """A container's own root: the host's directories bound into a private one, and the pod's mounts over them.

    It is built beside the host's tree and pivoted to at the end, so whatever it hides is still available as a source
    while it is built. Files that programs write lie in the pod's directory on disk, not in memory: they may be
    checkpoints.
    """

    def __init__(self, base: str, is_root: bool, shm: str, terminals: str = "") -> None:
        """`terminals` is the container's own devpts; without it the container sees the machine's."""
        self.base = base
        self.top = f"{base}/top"
        self.fresh_proc = False
        self.overlay_refusal = ""
        self._is_root = is_root
        self._shm = shm
        self._terminals = terminals
        self._layers = 0
        self._own = {"/"}  # where missing mount points are simply created
        self._host: set[str] = set()  # entries in there that belong to the host

    def build(
        self,
        mounts: Iterable[Obj],
        read_only: bool,
        search_path: str,
        user: int | None = None,
        hidden: Iterable[str] = (),
    ) -> None:
        """Replace the root of the calling process, which is in a mount namespace of its own.

        A program of another user than root may traverse /root, where its environment may lie.
        """
        remove_tree(self.base)  # left by a start that was interrupted
        entries = _entries("/", lambda entry: entry.name in OTHERS)
        self._lay_ground(entries)
        self._show(entries, self.top)
        self._add_private(PASS if user else 0)
        self._furnish(search_path)
        self._add_system()
        covers = [cover for path in hidden for cover in self._hide(path)]
        added = [place for item in mounts for place in self._added(item)]
        for cover in covers:  # only after mount points were created in them
            set_read_only(cover, recursive=False)
        if read_only:
            self._forbid_writing(added)
        mount("", self.top, flags=MS_PRIVATE)
        os.chdir(self.top)
        call_kernel("cannot change the root", "pivot_root", b".", b".")
        call_kernel("cannot leave the host's root", "umount2", b".", MNT_DETACH)
        os.chdir("/")

    def _lay_ground(self, entries: list[os.DirEntry[str]]) -> None:
        """Create the new root: an overlay with its upper layer on disk over a tmpfs that holds a mount point for each
        entry.

        Creating these mount points on a disk would take as long as all other steps. Where overlays are refused, they
        are created on disk.
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
            call_kernel("cannot take away the root's places", "umount2", os.fsencode(self.top), MNT_DETACH)
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

    def _add_private(self, extra: int) -> None:
        for name, mode in PRIVATE.items():
            os.mkdir(f"{self.base}/{name}")
            os.chmod(f"{self.base}/{name}", mode | extra)
            mount(f"{self.base}/{name}", f"{self.top}/{name}", flags=MS_BIND)
            self._own.add(f"/{name}")
        for name, options in IN_MEMORY.items():
            mount("tmpfs", f"{self.top}/{name}", "tmpfs", MS_NOSUID, options)
            self._own.add(f"/{name}")

    def _furnish(self, search_path: str) -> None:
        """Files that an image with sshd has: sshd needs a directory for privilege separation, and clears PATH for its
        shells."""
        os.mkdir(f"{self.top}/run/sshd", 0o755)
        quoted = search_path.replace("'", "'\\''")
        with open(f"{self.base}/root/.bashrc", "w") as file:  # bash reads it when sshd starts it, too
            file.write(f"export PATH='{quoted}'\n")

    def _add_system(self) -> None:
        replaced = ("ptmx", "pts") if self._terminals else ()
        devices = _entries("/dev", lambda entry: entry.name in replaced or _useless_device(entry))
        _make_places(devices, f"{self.top}/dev")
        self._show(devices, f"{self.top}/dev")
        if self._terminals:
            os.mkdir(f"{self.top}/dev/pts")
            mount(self._terminals, f"{self.top}/dev/pts", flags=MS_BIND)
            os.symlink("pts/ptmx", f"{self.top}/dev/ptmx")
        os.mkdir(f"{self.top}/dev/shm")
        mount(self._shm, f"{self.top}/dev/shm", flags=MS_BIND)
        self._own.add("/dev/shm")
        try:
            mount("proc", f"{self.top}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
            self.fresh_proc = True
        except OSError:  # refused where the host's own /proc is partly hidden, as inside most containers
            mount("/proc", f"{self.top}/proc", flags=MS_BIND | MS_REC)
        if self._is_root:
            points = mount_points(f"{self.top}/")
            for name in SYSTEM:
                path = f"{self.top}/{name}"
                if os.path.isdir(path) and not os.path.islink(path) and not self._overlay(f"/{name}", points):
                    set_read_only(path, recursive=True)

    def _hide(self, path: str) -> list[str]:
        """Cover a path of the host; returns the covering mounts that are still writable."""
        inside, missing = resolve(self.top, path)
        if missing or inside == "/":
            return []
        place = self.top + inside
        if not os.path.isdir(place):
            mount("/dev/null", place, flags=MS_BIND)
            return []
        mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755,size=1m")
        self._own.add(inside)
        return [place]

    def _added(self, item: Obj) -> list[str]:
        try:
            return [self._add(item)]
        except OSError:
            if not item.get("optional"):
                raise
            return []

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
        """The mount point for `target`, created where it is missing; never created in a directory of the host."""
        inside, missing = resolve(self.top, target)
        if not missing:
            return inside
        if not (self._owned(inside) and self._make_missing(inside, missing, is_directory)):
            self._make_room(inside)
            if not self._make_missing(inside, missing, is_directory):
                raise OSError(errno.EACCES, f"cannot make the mount point {target}")
        self._own.add(f"{inside.rstrip('/')}/{missing[0]}")
        return f"{inside.rstrip('/')}/{'/'.join(missing)}"

    def _make_room(self, inside: str) -> None:
        """Cover a directory of the host with one of the pod, in which a mount point can be created.

        An overlay is cheap, but keeps what programs write. In directories where people keep files, what a program
        writes must still exist when the pod is gone; such directories are bound entry by entry if possible.
        """
        if _keeps_files(inside) and self._cover(inside):
            return
        if not self._overlay(inside, mount_points(f"{self.top}{inside}/")) and not self._cover(inside, limit=None):
            raise OSError(errno.EACCES, f"cannot lay anything over {inside}: {self.overlay_refusal}")

    def _owned(self, inside: str) -> bool:
        """Whether the innermost mount at or above a path is the pod's."""
        while inside not in self._own:
            if inside in self._host or inside.count("/") == 1:  # entries directly under the root are the host's
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
        """Mount a private writable overlay over a directory, on disk or else in memory; False where it is refused.

        Mounts below the directory would be hidden by the overlay, and are bound again over it.
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

    def _cover(self, inside: str, limit: int | None = SHARED_LIMIT) -> bool:
        """Cover a directory with a private one that shows the same entries; False where they are too many or
        unreadable."""
        try:
            entries = _entries(self.top + inside, lambda entry: False)
        except PermissionError:
            return False
        if limit is not None and len(entries) > limit:
            return False
        store = self._store(False)
        _make_places(entries, store)
        self._show(entries, store)
        mount(store, self.top + inside, flags=MS_BIND | MS_REC)
        self._own.add(inside)
        self._host |= {f"{inside}/{entry.name}" for entry in entries}
        return True

    def _forbid_writing(self, added: list[str]) -> None:
        """Make everything read-only but volumes, devices and the kernel's own; all mount points have been created by
        now."""
        spared = [self.top + path for path in ("/dev", "/proc", "/sys", *added)]
        for path in (self.top, *mount_points(f"{self.top}/")):
            if not any(path == other or path.startswith(f"{other}/") for other in spared):
                set_read_only(path, recursive=False)


def _keeps_files(inside: str) -> bool:
    """Whether people keep files of their own there: false for directories of the system."""
    top = inside.split("/")[1]
    return top == "opt" or top not in SYSTEM


def _entries(directory: str, skip: Callable[[os.DirEntry[str]], bool]) -> list[os.DirEntry[str]]:
    with os.scandir(directory) as found:
        return [entry for entry in found if not skip(entry)]


def _make_places(entries: list[os.DirEntry[str]], target: str) -> None:
    """Copy symlinks, and create a mount point for every other entry."""
    for entry in entries:
        place = f"{target}/{entry.name}"
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), place)
        else:
            _make(place, entry.is_dir())


def open_part(volume: str, part: str) -> int:
    """Open a part of a volume, created where it is missing; never through a symlink, which a program may have
    planted."""
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
    """The host's consoles, disks and management, and what the user may not open; accelerators of every make are
    kept."""
    name = entry.name
    if name in USELESS or name.startswith(("ttyS", "vcs")) or (name.startswith("tty") and name[3:4].isdigit()):
        return True
    mode = entry.stat(follow_symlinks=False).st_mode
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        return True
    return stat.S_ISCHR(mode) and not os.access(entry.path, os.R_OK | os.W_OK)


def mount_points(prefix: str) -> list[str]:
    """The mount points below a path, in the order of mounting."""
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
