# SPDX-License-Identifier: Apache-2.0
"""Environments that use an existing virtual or conda environment without changing it.

Such an environment has a small virtual environment of its own, with `springtide.elastic` and `tiderun`, of the same
interpreter. It reads the packages of the existing one through a `.pth` file, and has links to its programs. So packages
that are installed there later are found as well.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

import springtide
from springtide.local.environments import bundle
from springtide.local.environments.environment import Environment, outermost, own
from springtide.local.environments.shelf import BusyError, Environments, LinkError
from springtide.local.environments.tools import MakingError, Tools, being_made
from springtide.messages import text

_STAMP: Final = "adopted.json"
_PTH: Final = "springtide-adopted.pth"
_OWN_PROGRAMS: Final = ("python", "pip", "activate", "Activate", "deactivate", "tiderun")
"""Programs with these beginnings belong to one environment, and are not linked."""
_SITES: Final = "import json, platform, site; print(json.dumps([platform.python_version(), site.getsitepackages()]))"


def adopt(shelf: Environments, name: str, existing: Path, image: str, tools: Tools | None = None) -> Environment:
    """Publish an environment for an image, with the packages of an existing environment. MakingError if that is not
    possible."""
    try:
        with shelf.lock(name):
            shelf.sweep(name)
            found = shelf.find(name)
            wanted = _stamp(existing)
            if found is not None and found.images == (image,) and _read(Path(found.prefix)) == wanted:
                return found
            environment = _made(shelf.root / name, name, existing, image, tools or Tools.found())
            (Path(environment.prefix) / _STAMP).write_text(json.dumps(wanted))
            shelf.put(environment)
            shelf.sweep(name)
            return environment
    except LinkError as error:
        raise MakingError(error.what) from None
    except BusyError:
        raise MakingError(being_made(name)) from None


def share(shelf: Environments, environment: Environment, name: str, image: str) -> Environment:
    """Publish an environment under another name, for an image. It is that of `tide`, or one that was made before."""
    shared = replace(environment, name=name, images=(image,), made=_now(), preset="")
    try:
        with shelf.lock(name):
            shelf.put(shared)
            shelf.sweep(name)
    except LinkError as error:
        raise MakingError(error.what) from None
    except BusyError:
        raise MakingError(being_made(name)) from None
    return shared


def is_own(existing: Path) -> bool:
    """Whether it is the environment that runs `tide`."""
    return os.path.realpath(existing) == os.path.realpath(own().prefix)


def is_environment(directory: Path) -> bool:
    return os.access(directory / "bin" / "python", os.X_OK)


def _made(place: Path, name: str, existing: Path, image: str, tools: Tools) -> Environment:
    version, sites = _probed(existing)
    if not bundle.runs_on(version):
        said = text(
            "{path} has Python {version}, and tiderun needs 3.11 or newer\n"
            "Make it anew with a newer Python, or choose another environment: {option}",
            path=existing,
            version=version,
            option="--environment NAME",
        )
        raise MakingError(said)
    directory = place / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    complete = False
    try:
        _ran([str(existing / "bin" / "python"), "-I", "-m", "venv", "--without-pip", str(directory)], existing)
        packages = tools.probe(directory).packages
        added = bundle.install(directory, packages, horovod=False)
        (packages / _PTH).write_text("".join(f"import site; site.addsitedir({site!r})\n" for site in sites))
        tools.compile(directory, added)
        _link_programs(existing / "bin", directory / "bin")
        complete = True
        paths = outermost([*tools.probe(directory).paths, str(existing), *sites])
        return Environment(
            name, str(directory), (image,), paths=paths, python=version, requirements=(str(existing),), made=_now()
        )
    finally:
        if not complete:
            shutil.rmtree(directory, ignore_errors=True)


def _link_programs(source: Path, target: Path) -> None:
    for program in source.iterdir():
        link = target / program.name
        if not program.name.startswith(_OWN_PROGRAMS) and not link.exists() and os.access(program, os.X_OK):
            link.symlink_to(program)


def _probed(existing: Path) -> tuple[str, list[str]]:
    version, sites = json.loads(_ran([str(existing / "bin" / "python"), "-I", "-c", _SITES], existing))
    return version, [site for site in sites if os.path.isdir(site)]


def _ran(command: list[str], existing: Path) -> str:
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        last = answer.stderr.strip().splitlines()[-1:] or [f"exit code {answer.returncode}"]
        raise MakingError(text("the Python in {path} does not work: {why}", path=existing, why=last[0]))
    return answer.stdout


def _stamp(existing: Path) -> dict[str, Any]:
    """What the environment was made from: it is made anew when this differs."""
    interpreter = existing / "bin" / "python"
    try:
        python = interpreter.resolve().stat()
        programs = (existing / "bin").stat()
    except OSError as error:
        said = text("the environment {path} cannot be read: {why}", path=existing, why=error.strerror)
        raise MakingError(said) from None
    return {
        "of": str(existing),
        "springtide": springtide.__version__,
        "python": [str(interpreter.resolve()), python.st_mtime_ns],
        "programs": programs.st_mtime_ns,
    }


def _read(directory: Path) -> Any:
    try:
        return json.loads((directory / _STAMP).read_text())
    except (OSError, ValueError):
        return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
