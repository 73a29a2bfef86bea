# SPDX-License-Identifier: Apache-2.0
"""Small file systems, to be filled to the last byte."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def mount(path: Path, owner: Path, size: str) -> str:
    """Mounts one that belongs to whom another path belongs to; why that cannot be done, or ""."""
    if os.geteuid() != 0:
        return "only root can mount a small disk"
    status = owner.stat()
    options = f"size={size},mode=0700,uid={status.st_uid},gid={status.st_gid}"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], capture_output=True, text=True, check=False
    )
    return f"this system refuses to mount a small disk: {mounted.stderr.strip()}" if mounted.returncode else ""


def unmount(path: Path) -> None:
    subprocess.run(["umount", "--lazy", str(path)], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Not a byte is left."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    try:
        yield
    finally:
        filler.unlink()
