# SPDX-License-Identifier: Apache-2.0
"""Executing a container's program in a forked process."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import termios

from springtide.local.runtime.shim.json_lines import encode
from springtide.local.runtime.shim.kernel import Ignoring, Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
    from typing import Any, NoReturn

    Obj = dict[str, Any]
else:
    import _signal as signal


IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTERM)
"""Signals that a terminal, its closing or the end of a session sends to all processes; a shim ignores them."""
STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NOT_FOUND = "NotFound"


def find_program(name: str, env: dict[str, str]) -> str:
    """The path of a command; the errors are worded like a container runtime's."""
    if "/" in name:
        try:
            os.stat(name)
        except OSError as error:
            reason = NOT_FOUND if error.errno == errno.ENOENT else "StartError"
            raise Refusal(reason, f'exec: "{name}": stat {name}: {plain(error)}') from None
        return name
    for directory in env.get("PATH", STANDARD_PATH).split(":"):
        path = f"{directory or '.'}/{name}"
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise Refusal(NOT_FOUND, f'exec: "{name}": executable file not found in $PATH')


def plain(error: OSError) -> str:
    return os.strerror(error.errno or 0).lower()


def become(body: Obj, terminal: bool, stdio: Sequence[int]) -> None:
    """Set stdio, session and user of a program that is about to be executed."""
    os.setsid()
    if terminal:
        fcntl.ioctl(stdio[0], termios.TIOCSCTTY, 0)
    # First duplicate all above 2, then move them into place: a source may occupy the number of another target.
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
    """Give pipes and terminals to the program's user, who otherwise could not open /dev/stdout."""
    for fd in (0, 1, 2):
        mode = os.fstat(fd).st_mode
        if stat.S_ISFIFO(mode) or os.isatty(fd):
            with Ignoring(OSError):
                os.fchown(fd, user, -1)


def execute(argv: Sequence[str], env: dict[str, str]) -> NoReturn:
    """Replace this process with the program; raises `Refusal` with the reason if that fails."""
    if not argv:
        raise Refusal("StartError", "no command is given")
    if any("\0" in word for word in argv):
        raise Refusal("StartError", f'exec: "{argv[0]}": invalid argument: a command cannot hold a zero byte')
    path = find_program(argv[0], env)
    for number in (*IGNORED, signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores the last two; so would a program
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    variables = {_bytes(name): _bytes(value) for name, value in env.items()}
    try:
        os.execve(_bytes(path), [_bytes(word) for word in argv], variables)
    except OSError as error:
        raise Refusal("StartError", f'exec: "{argv[0]}": {plain(error)}') from None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def enter_directory(path: str) -> None:
    """Change to the working directory, created when it is missing, as container runtimes do."""
    try:
        os.makedirs(path, exist_ok=True)
        os.chdir(path)
    except OSError as error:
        raise Refusal("StartError", f'cannot enter the working directory "{path}": {plain(error)}') from None


def report(fd: int, **facts: Any) -> None:
    with Ignoring(BrokenPipeError):  # the reader is dead; the caller continues in the same way
        os.write(fd, encode(facts).encode() + b"\n")
