# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the libraries for GPUs that PyTorch is linked with, on machines where it never calls them.

PyTorch's wheel in the ordinary registry is the one for GPUs. With all the libraries it asks for it fills 5 GB; without
them one, but then it does not load, because the loader wants each of them to be there, and every function that PyTorch
may call. So whatever is missing is made here, out of nothing:

    libcublas.so.13, libcudnn.so.9, ...     empty, and in need of
    libabsent.so                            where every function returns 1, which is an error to all who call them

The functions stand in a library of another name because the loader insists on versions otherwise.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

ABSENT = "libabsent.so"


def supply(folder: Path) -> None:
    """All that the libraries of PyTorch in this folder lack."""
    assert shutil.which("cc"), "a C compiler is missing: apt-get install gcc"
    libraries = (folder / "libtorch.so", folder / "libtorch_python.so")
    _make(folder / ABSENT, "")
    for name in sorted(_missing(*libraries)):
        _make(folder / name, "", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", str(folder / ABSENT))
    functions = sorted(_undefined(*libraries))
    _make(folder / ABSENT, "".join(f"int {name}(void) {{ return 1; }}\n" for name in functions))


def _make(library: Path, source: str, *words: str) -> None:
    command = ["cc", "-shared", "-nostdlib", "-w", "-fno-builtin", "-o", str(library), f"-Wl,-soname,{library.name}"]
    subprocess.run([*command, "-x", "c", "-", "-x", "none", *words], input=source, text=True, check=True)


def _missing(*libraries: Path) -> set[str]:
    return set(re.findall(r"^\s*(\S+) => not found$", _ldd(*libraries), re.MULTILINE))


def _undefined(*libraries: Path) -> set[str]:
    """But for Python's own, which are in the interpreter."""
    return set(re.findall(r"^undefined symbol: (?!_*Py)(\w+)", _ldd("-r", *libraries), re.MULTILINE))


def _ldd(*words: str | Path) -> str:
    return subprocess.run(["ldd", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
