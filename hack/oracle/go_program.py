# SPDX-License-Identifier: Apache-2.0
"""Builds a program of a pinned Go module, once per version, in the cache outside the checkout."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import control_plane


def build(source: Path, module: str, package: str, name: str, definitions: Sequence[str]) -> Path:
    """`source` is a module that pins it and all that it needs. The named files of the module are put together beside
    the program, under its name with `.yaml` at its end."""
    target = control_plane.cache().parent / name / _go(source, "list", "-m", "-f", "{{.Version}}", module)
    program = target / name
    if program.exists():
        return program
    target.mkdir(parents=True, exist_ok=True)
    partial = target / "partial"
    _go(source, "build", "-trimpath", "-ldflags", "-s -w", "-o", str(partial), f"{module}/{package}")
    place = Path(_go(source, "list", "-m", "-f", "{{.Dir}}", module))
    Path(f"{program}.yaml").write_text("\n---\n".join((place / each).read_text() for each in definitions))
    partial.rename(program)
    return program


def _go(source: Path, *words: str) -> str:
    environment = {**os.environ, "GOFLAGS": "-mod=mod -buildvcs=false"}
    done = subprocess.run(["go", *words], cwd=source, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()
