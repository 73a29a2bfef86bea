# SPDX-License-Identifier: Apache-2.0
"""`make install` and `make uninstall`: Springtide's commands on the PATH, from a checkout.

    PREFIX/lib/springtide/VERSION/      a virtual environment of its own, a new one with every install
    PREFIX/bin/tide, tiderun, ...       links to its commands
    PREFIX/share/...                    completion for bash, zsh and fish

The links are switched when the new environment is complete. Older ones are removed unless processes, such as a cluster
that is up, still run from them. Nothing that is not ours is replaced or removed: Arena's own `arena` stays, and ours is
installed without a link.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import secrets
import shlex
import shutil
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPLETIONS = {
    "bash": "share/bash-completion/completions/tide",
    "zsh": "share/zsh/site-functions/_tide",
    "fish": "share/fish/vendor_completions.d/tide.fish",
}
SHARED = {"arena"}
"""Commands that other programs have, too: whose PATH leads to another one keeps it."""
MARK = "_TIDE_COMPLETE"
"""In every completion script of ours."""


class RefusedError(Exception):
    """It cannot be done; the message says why and what to do."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prefix", type=Path, required=True)
    parser.add_argument("--uv", default="uv")
    parser.add_argument("what", choices=["install", "uninstall"])
    given = parser.parse_args()
    prefix = given.prefix.expanduser().absolute()
    try:
        if given.what == "install":
            install(prefix, given.uv)
        else:
            uninstall(prefix)
    except RefusedError as error:
        sys.exit(f"Error: {error}")
    except OSError as error:
        sys.exit(f"Error: cannot change {error.filename or prefix}: {error.strerror}\nChoose another place: PREFIX=DIR")


def install(prefix: Path, uv: str) -> None:
    folder = prefix / "lib" / "springtide"
    check_free(prefix, declared_commands())
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    print(f"Installing into {place} ...", flush=True)
    complete = False
    try:
        make_environment(place, uv)
        commands = installed_commands(place)
        check_free(prefix, commands)
        complete = True
    finally:
        if not complete:
            shutil.rmtree(place, ignore_errors=True)
    (prefix / "bin").mkdir(parents=True, exist_ok=True)
    kept = [name for name in commands if name in SHARED and is_taken(prefix / "bin" / name)]
    commands = [name for name in commands if name not in kept]
    for name in commands:
        switch(prefix / "bin" / name, place / "bin" / name)
    for link in set(own_links(prefix)) - {prefix / "bin" / name for name in commands}:
        link.unlink()
    write_completions(prefix, place)
    sweep(folder, place)
    print(f"Installed {', '.join(commands)} in {prefix / 'bin'}.")
    for name in kept:
        print(f"{prefix / 'bin' / name} is another program and stays. Springtide's {name}: {place / 'bin' / name}")
    print(advice(prefix / "bin", os.environ.get("PATH", ""), os.environ.get("SHELL", "")))


def uninstall(prefix: Path) -> None:
    folder = prefix / "lib" / "springtide"
    if not folder.is_dir():
        print(f"Springtide is not installed in {prefix}; nothing was removed.")
        return
    if users := processes_of(folder):
        raise RefusedError(
            f"processes run from {folder}: {', '.join(map(str, users))}\n"
            "Stop your clusters first: tide down. Nothing was removed."
        )
    for link in own_links(prefix):
        link.unlink()
    for file in (prefix / path for path in COMPLETIONS.values()):
        if is_own_completion(file):
            file.unlink()
    for entry in versions(folder):
        shutil.rmtree(entry)
    try:
        folder.rmdir()
    except OSError:
        print(f"Left alone in {folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
    print(f"Removed Springtide from {prefix}. Clusters and environments in ~/.local/share/springtide are kept.")


def make_environment(place: Path, uv: str) -> None:
    """As `make_environment.sh` does it, but not editable: the checkout may go."""
    environ = os.environ | uv_variables()
    environ.pop("UV_PYTHON", None)
    for command in (
        [uv, "venv", "--quiet", "--no-python-downloads", "--python", os.path.realpath(sys.executable), str(place)],
        [uv, "pip", "install", "--quiet", "--python", f"{place}/bin/python", "--constraint", "constraints.txt", "."],
    ):
        if subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode != 0:
            raise RefusedError(f"{shlex.join(command)} failed, see above; nothing was changed")


def uv_variables() -> dict[str, str]:
    """pip's index, proxy and certificates. Springtide itself is not installed yet."""
    file = ROOT / "src/springtide/local/environments/pip_settings.py"
    spec = importlib.util.spec_from_file_location("pip_settings", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, str] = module.uv_variables(os.environ)
    return found


def declared_commands() -> list[str]:
    return sorted(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"])


def installed_commands(place: Path) -> list[str]:
    (found,) = metadata.distributions(name="springtide", path=[str(path) for path in place.glob("lib/*/site-packages")])
    return sorted(entry.name for entry in found.entry_points if entry.group == "console_scripts")


def check_free(prefix: Path, commands: list[str]) -> None:
    """Before anything is made: another program of that name is not ours to replace."""
    for path in (prefix / "bin" / name for name in commands if name not in SHARED):
        if is_taken(path):
            raise RefusedError(
                f"{path} is there already, and was not installed by make install\n"
                f"Remove it (rm {shlex.quote(str(path))}), or choose another place: make install PREFIX=DIR"
            )


def is_taken(path: Path) -> bool:
    return os.path.lexists(path) and not is_own_link(path)


def own_links(prefix: Path) -> list[Path]:
    return [path for path in sorted((prefix / "bin").glob("*")) if is_own_link(path)]


def is_own_link(path: Path) -> bool:
    return path.is_symlink() and os.readlink(path).startswith("../lib/springtide/")


def switch(link: Path, target: Path) -> None:
    """In one step: at no moment is there no command."""
    draft = link.with_name(f".{link.name}.{secrets.token_hex(4)}")
    draft.symlink_to(os.path.relpath(target, link.parent))
    draft.replace(link)


def write_completions(prefix: Path, place: Path) -> None:
    for shell, path in COMPLETIONS.items():
        file = prefix / path
        if os.path.lexists(file) and not is_own_completion(file):
            continue
        script = subprocess.run(
            [place / "bin" / "tide", "completion", shell], capture_output=True, text=True, check=False
        )
        if script.returncode == 0 and MARK in script.stdout:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(script.stdout)


def is_own_completion(file: Path) -> bool:
    return file.is_file() and not file.is_symlink() and MARK in file.read_text(errors="replace")


def versions(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir() and (path / "pyvenv.cfg").is_file()]


def sweep(folder: Path, current: Path) -> None:
    for old in versions(folder):
        if old != current and not processes_of(old):
            shutil.rmtree(old, ignore_errors=True)


def processes_of(folder: Path) -> list[int]:
    """Processes of this user that were started from there, or with it on their PATH."""
    wanted = os.fsencode(folder) + b"/"
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            said = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue  # gone, or of another user
        if wanted in said and int(process.name) != os.getpid():
            found.append(int(process.name))
    return sorted(found)


def advice(folder: Path, path: str, shell: str) -> str:
    """What to type next, and before it what makes the shell find it."""
    found = shutil.which("tide", path=path)
    if found and os.path.samefile(found, folder / "tide"):
        return "Start a cluster: tide up"
    quoted = str(folder).replace(str(Path.home()), "$HOME", 1) if folder.is_relative_to(Path.home()) else str(folder)
    name = Path(shell).name
    line = f"fish_add_path {shlex.quote(str(folder))}" if name == "fish" else f'export PATH="{quoted}:$PATH"'
    file = {"fish": "", "zsh": "~/.zshrc"}.get(name, "~/.bashrc")
    why = f"{found} comes first on your PATH." if found else f"{folder} is not on your PATH."
    later = f"\nFor all shells to come, put the same line into {file}." if file else ""
    return f"! {why} Type:\n\n  {line}\n  tide up\n{later}".rstrip()


if __name__ == "__main__":
    main()
