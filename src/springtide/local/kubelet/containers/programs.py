# SPDX-License-Identifier: Apache-2.0
"""Programs that every container finds: the built-in kubectl, whatever Python and PATH the container has.

<data>/bin/kubectl      a few lines of shell that look for a Python
<data>/bin/kubectl.py   the program itself
"""

from __future__ import annotations

import os
import shlex
import sys
from functools import cache
from pathlib import Path

from springtide.local import runtime
from springtide.local.environments.environment import outermost
from springtide.local.runtime.shim_client import interpreter

_OTHERS = ("python3", "/usr/bin/python3", "/usr/local/bin/python3")


def install(directory: Path, owner: str) -> None:
    """Agents of several nodes may do this concurrently: `owner` keeps their drafts apart, and all write the same
    content."""
    directory.mkdir(parents=True, exist_ok=True)
    _write(directory / "kubectl.py", (Path(runtime.__path__[0]) / "kubectl.py").read_bytes(), owner)
    _write(directory / "kubectl", launcher("kubectl.py", interpreter()).encode(), owner)


def launcher(program: str, python: str) -> str:
    """A shell script that runs a Python program beside it. The caller may have reset PATH, and the agent's interpreter
    may be inaccessible to other users, so several are tried."""
    candidates = " ".join(shlex.quote(each) for each in (python, *_OTHERS))
    lines = (
        "#!/bin/sh",
        f"for python in {candidates}; do",
        f'    command -v "$python" > /dev/null && exec "$python" -I -S "${{0%/*}}/{program}" "$@"',
        "done",
        f'echo "$0 needs a Python, and none of {candidates} is here" >&2',
        "exit 127",
    )
    return "\n".join(lines) + "\n"


@cache
def needed() -> tuple[str, ...]:
    """Directories that the agent's own Python reads from."""
    return outermost([sys.base_prefix, os.path.dirname(os.path.dirname(interpreter()))])


def _write(path: Path, content: bytes, owner: str) -> None:
    if path.exists() and path.read_bytes() == content:
        return
    draft = path.with_name(f".{path.name}.{owner}")
    draft.write_bytes(content)
    draft.chmod(0o755)
    draft.replace(path)
