# SPDX-License-Identifier: Apache-2.0
"""The environments of this user on disk: find by image, list, remove.

    <root>/<name>/environment.json     written last: an environment without it does not exist
    <root>/<name>/<version>/           the Python environment it names, and older ones that pods still run in
    <root>/<name>/lock                 held while one is being made

Reading needs no lock: environment.json is replaced atomically, and the version it names is complete by then.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from springtide.local.environments import patterns
from springtide.local.environments.environment import Environment, own
from springtide.messages import Language, shown, text

NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
_CARD, _LOCK = "environment.json", "lock"


class BusyError(Exception):
    """Another process is creating this environment."""


class LinkError(Exception):
    """The directory of an environment is a symbolic link: tide must not remove its target."""

    def __init__(self, directory: Path) -> None:
        self.what = text(
            "{path} is a symbolic link, and tide changes nothing behind it\nRemove the link: {command}",
            path=directory,
            command=f"rm {shlex.quote(str(directory))}",
        )
        super().__init__(shown(self.what, Language.ENGLISH))


def default_root() -> Path:
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "springtide" / "environments"


class Environments:
    def __init__(self, root: Path, fallback: Environment | None = None) -> None:
        self.root = root
        self.fallback = fallback or own()
        self._read: dict[Path, tuple[tuple[int, int], Environment]] = {}

    def all(self) -> list[Environment]:
        """The environments, by name; unreadable ones are left out."""
        try:
            cards = sorted(entry / _CARD for entry in self.root.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [found for card in cards if (found := self._card(card))]

    def find(self, name: str) -> Environment | None:
        """None for an invalid name, without reading anything: it may be a path that leads elsewhere."""
        return self._card(self.root / name / _CARD) if NAME.fullmatch(name) else None

    def for_image(self, image: str) -> Environment:
        """The environment that a container of this image runs in."""
        return self.made_for(image) or self.fallback

    def made_for(self, image: str) -> Environment | None:
        """The environment that was made for an image: of several with the same pattern, the newest."""
        by_age = sorted(self.all(), key=lambda each: (each.made, each.name))
        by_pattern = {pattern: environment for environment in by_age for pattern in environment.images}
        pattern = patterns.best(by_pattern, image)
        return by_pattern[pattern] if pattern is not None else None

    def _card(self, path: Path) -> Environment | None:
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_ino)
            known = self._read.get(path)
            if known is None or known[0] != stamp:
                known = self._read[path] = (stamp, msgspec.json.decode(path.read_bytes(), type=Environment))
            return known[1]
        except (OSError, msgspec.DecodeError):
            return None

    # Changes

    def put(self, environment: Environment) -> None:
        """Publish an environment under its name. Requires the lock."""
        card = self.root / environment.name / _CARD
        draft = card.with_name(f"{_CARD}.new")
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(environment)))
        draft.replace(card)

    def remove(self, name: str) -> list[Path]:
        """Remove an environment; returns the directories that are kept because pods still run in them."""
        with self.lock(name):
            (self.root / name / _CARD).unlink(missing_ok=True)
            left = self.sweep(name)
            if not left:
                shutil.rmtree(self.root / name, ignore_errors=True)
        return left

    def sweep(self, name: str) -> list[Path]:
        """Remove what a killed process left and unused old versions; returns those still in use."""
        current = self.find(name)
        kept = []
        for directory in filter(_is_plain_directory, (self.root / name).iterdir()):
            if current is not None and Path(current.prefix).is_relative_to(directory):
                continue
            if in_use(directory):
                kept.append(directory)
            else:
                shutil.rmtree(directory, ignore_errors=True)
        return kept

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        directory = self.root / name
        if directory.is_symlink():
            raise LinkError(directory)
        directory.mkdir(parents=True, exist_ok=True, mode=0o755)
        with (directory / _LOCK).open("ab") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BusyError(name) from None
            yield


def _is_plain_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def in_use(directory: Path) -> bool:
    """Whether a process of this user was started with the directory on its PATH, as every container's is."""
    wanted = os.fsencode(directory) + b"/"
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes():
                return True
        except OSError:
            continue  # exited, or another user's
    return False
