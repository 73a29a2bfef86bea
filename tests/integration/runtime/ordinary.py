# SPDX-License-Identifier: Apache-2.0
"""The same tests once more as an ordinary user, for rooms whose work depends on who does it.

    def test_an_ordinary_user_sees_the_same(): ordinary.rerun(FOLDER)

The user needs no account. Where the interpreter or the repository lies in a home that is closed to others, the child
sees it through a private mount namespace; nothing on the machine is changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

UID = 64321
REPOSITORY = Path(__file__).parents[3]


def command(argv: list[str]) -> list[str]:
    """A command line that root can run to have `argv` run by an ordinary user."""
    return [sys.executable, "-m", "tests.integration.runtime.ordinary", *argv]


def rerun(folder: Path) -> None:
    """Run the tests of a folder as an ordinary user; their output is in the failure. Those marked `any_user` are not
    run: they are the same for root and for an ordinary user."""
    # Not pytest's own directory: any other pytest of root on this machine closes that to others again.
    with tempfile.TemporaryDirectory(prefix="tide-", ignore_cleanup_errors=True) as scratch:
        os.chown(scratch, UID, UID)
        tests = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"--basetemp={scratch}/t"]
        env = {
            "PATH": os.environ["PATH"],
            "HOME": scratch,
            "TMPDIR": scratch,
            "HYPOTHESIS_STORAGE_DIRECTORY": f"{scratch}/hypothesis",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        argv = command([*tests, "-m", "not any_user", str(folder)])
        done = subprocess.run(argv, cwd=REPOSITORY, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def _show(paths: list[Path]) -> None:
    """Cover each closed directory above the paths by an open one that has nothing else in it."""
    from springtide.local.runtime.shim import kernel

    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("", "/", flags=kernel.MS_SLAVE | kernel.MS_REC)
    closed: dict[Path, list[Path]] = {}
    for path in paths:
        for parent in reversed(path.parents):
            if parent.stat().st_mode & 0o005 != 0o005:
                closed.setdefault(parent, []).append(path)
                break
    for parent, inner in closed.items():
        opened = [(path, os.open(path, os.O_PATH)) for path in inner]
        kernel.mount("tmpfs", str(parent), "tmpfs", data="mode=0755")
        for path, fd in opened:
            path.mkdir(parents=True, exist_ok=True)
            kernel.mount(f"/proc/self/fd/{fd}", str(path), flags=kernel.MS_BIND | kernel.MS_REC)
            os.close(fd)


def main(argv: list[str]) -> None:
    where = Path.cwd()
    _show([Path(sys.base_prefix).resolve(), Path(sys.prefix), REPOSITORY])
    os.setgroups([])
    os.setgid(UID)
    os.setuid(UID)
    os.chdir(where)  # as it looks now
    os.execvp(argv[0], argv)


if __name__ == "__main__":
    main(sys.argv[1:])
