# SPDX-License-Identifier: Apache-2.0
"""Reads kubeconfig files as kubectl does: one or several, merged, and the cluster and user of one context.

`config` calls it for every kubeconfig. It only reads: no authentication, no plugin, no writes. ValueError or YAMLError
for an invalid file, OSError for one that cannot be read.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Entry = Mapping[str, Any]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SECTIONS = {"contexts": "context", "clusters": "cluster", "users": "user"}
_LARGEST = 8 << 20
_DEEPEST = 100
_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
"""Fields with file names, relative to the kubeconfig that contains them."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The resolved context. File names in it are absolute."""

    context: str
    cluster: Entry
    user: Entry
    namespace: str

    @property
    def has_static_user(self) -> bool:
        """Whether all credentials are in the file or in files it names."""
        return not (self.user.get("exec") or self.user.get("auth-provider"))


@dataclass(frozen=True, slots=True)
class Config:
    """One file, or several merged."""

    current: str
    contexts: Mapping[str, Entry]
    clusters: Mapping[str, Entry]
    users: Mapping[str, Entry]

    def choose(self, context: str = "") -> Choice:
        """Resolves the named or the current context."""
        name = context or self.current
        if not name:
            raise ValueError("it has no current-context")
        chosen = _named(self.contexts, "context", name)
        cluster = _named(self.clusters, "cluster", str(chosen.get("cluster") or ""))
        user = _named(self.users, "user", str(chosen["user"])) if chosen.get("user") else {}
        return Choice(name, cluster, user, str(chosen.get("namespace") or "default"))


def read(paths: str) -> Config:
    """One file or several (`$KUBECONFIG` syntax; missing ones are skipped, but one must exist).

    As in kubectl: of several files, the first to define a name wins, also for the current context.
    """
    found = existing(paths)
    if not found:
        raise ValueError("there is no such file")
    current = ""
    sections: dict[str, dict[str, Entry]] = {section: {} for section in _SECTIONS}
    for path in found:
        document = parsed(path)
        current = current or str(document.get("current-context") or "")
        for section, field in _SECTIONS.items():
            for name, entry in _entries(document, section, field, path):
                sections[section].setdefault(name, entry)
    return Config(current, **sections)


def existing(paths: str) -> list[Path]:
    """The existing files. A path with a colon that exists itself is not a list of files."""
    parts = [paths] if Path(paths).expanduser().is_file() else [part for part in paths.split(os.pathsep) if part]
    return [path for path in (Path(part).expanduser() for part in parts) if path.exists()]


def content(entry: Entry, field: str) -> bytes:
    """The value of `field-data`, or the content of the file in `field`; empty if there is neither."""
    if data := entry.get(f"{field}-data"):
        return b64decode(data, validate=True)
    return Path(entry[field]).read_bytes() if entry.get(field) else b""


def parsed(path: Path, loader: type[Any] = _LOADER) -> dict[str, Any]:
    """The mapping in a file; its size and depth are limited, as the file is not trusted."""
    with path.open("rb") as file:
        text = file.read(_LARGEST + 1)
    if len(text) > _LARGEST:
        raise ValueError(f"{path} has more than {_LARGEST >> 20} MiB")
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError(f"{path} is nested more than {_DEEPEST} levels deep")
    document = yaml.load(text, Loader=loader)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ValueError(f"{path} is not a kubeconfig: expected a mapping at the top")
    return document


def _entries(document: Entry, section: str, field: str, path: Path) -> list[tuple[str, Entry]]:
    items = document.get(section) or []
    if not isinstance(items, list) or not all(isinstance(item, dict) and "name" in item for item in items):
        raise ValueError(f"{section} in {path} is not a list of named entries")
    return [(str(item["name"]), _absolute(item.get(field) or {}, path)) for item in items]


def _absolute(entry: Entry, path: Path) -> Entry:
    if not isinstance(entry, dict):
        raise ValueError(f"{path} has an entry that is not a mapping")
    texts = (*_FILES, *(f"{field}-data" for field in _FILES))
    if wrong := [field for field in texts if not isinstance(entry.get(field) or "", str)]:
        raise ValueError(f"{path} has an entry whose {wrong[0]} is not text")
    folder = path.parent.absolute()
    return {**entry, **{field: str(folder / entry[field]) for field in _FILES if entry.get(field)}}


def _named(entries: Mapping[str, Entry], what: str, name: str) -> Entry:
    if name not in entries:
        raise ValueError(f"{what} {name!r} does not exist")
    return entries[name]
