# SPDX-License-Identifier: Apache-2.0
"""Arena's command line, built from the Go module registry, and the Python SDK that drives it.

    python hack/oracle/arena.py      builds it once, in the cache outside the checkout; prints its folder

The folder is a HOME for it: `arena` looks for `charts` there, and calls `arena-kubectl`, which has to be on PATH. Its
go.mod replaces modules, which counts only where it is the main module, so it is built in a copy of its own source.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import control_plane

MODULE = "github.com/kubeflow/arena"
VERSION = "v0.15.5"
SUM = "h1:dZOfQoehHvrnjqFz35zUS9UoN8YF40rcYHhMFNJ7PRY="
CHARTS = ("etjob", "mpijob", "pytorchjob", "tfjob", "scaleout", "scalein")
SDK = "sdk/arena-python-sdk/arenasdk"


def build() -> Path:
    target = control_plane.cache().parent / "arena" / VERSION
    if not (target / "arena").exists():
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target) as scratch:
            source = Path(scratch) / "source"
            shutil.copytree(_module(), source, copy_function=shutil.copyfile)
            _compile(source, Path(scratch) / "arena")
            (Path(scratch) / "arena").rename(target / "arena")
    if not (target / "arenasdk").exists():
        shutil.copytree(_module() / SDK, target / "arenasdk", copy_function=shutil.copyfile)
    _copy_charts(target / "charts")
    return target


def _copy_charts(target: Path) -> None:
    """Those that are not there yet: the program may have been built for fewer."""
    missing = [chart for chart in CHARTS if not (target / chart).exists()]
    source = _module() / "charts" if missing else target
    for chart in missing:
        shutil.copytree(source / chart, target / chart, copy_function=shutil.copyfile)


def _module() -> Path:
    command = ["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"]
    with tempfile.TemporaryDirectory() as elsewhere:  # not the module of this folder
        found = json.loads(subprocess.run(command, cwd=elsewhere, check=True, stdout=subprocess.PIPE).stdout)
    if found["Sum"] != SUM:
        sys.exit(f"{MODULE} {VERSION} has the checksum {found['Sum']}, expected {SUM}")
    return Path(found["Dir"])


def _compile(source: Path, program: Path) -> None:
    command = ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", str(program), "./cmd/arena"]
    subprocess.run(command, cwd=source, check=True)


if __name__ == "__main__":
    print(build())
