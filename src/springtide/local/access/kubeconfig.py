# SPDX-License-Identifier: Apache-2.0
"""Kubeconfig files: the cluster's own, and merging its entries into the user's.

`tide up` writes the first, `tide kubeconfig --merge` the second, from which `tide delete --cluster` removes the
entries. Both change exactly three named entries and the current context; everything else in the user's file is kept
(except comments: YAML libraries drop them, and so does `kubectl config`).
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from springtide.kube import kubeconfig
from springtide.local.access.files import write_private
from springtide.local.access.pki import KeyPair

Config = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A cluster, and the user to access it with, under one name."""

    name: str
    server: str
    ca: bytes
    client: KeyPair
    role: str = "admin"

    @property
    def user(self) -> str:
        return f"{self.name}-{self.role}"


def as_config(entry: Entry) -> Config:
    cluster = {"server": entry.server, "certificate-authority-data": _base64(entry.ca)}
    user = {
        "client-certificate-data": _base64(entry.client.certificate),
        "client-key-data": _base64(entry.client.key),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": entry.name, "cluster": cluster}],
        "users": [{"name": entry.user, "user": user}],
        "contexts": [{"name": entry.name, "context": {"cluster": entry.name, "user": entry.user}}],
        "current-context": entry.name,
    }


def as_text(entry: Entry) -> str:
    return _dump(as_config(entry))


def write(path: Path, entry: Entry) -> None:
    write_private(path, as_text(entry).encode())


def merged(existing: Config, entry: Entry) -> Config:
    """The user's configuration with the entry added, or replaced by name, and made current."""
    ours = as_config(entry)
    result = {"apiVersion": "v1", "kind": "Config", **existing}
    for section in ("clusters", "users", "contexts"):
        result[section] = _with_item(existing.get(section) or [], ours[section][0])
    result["current-context"] = ours["current-context"]
    return result


def merge_into(path: Path, entry: Entry) -> None:
    """Merge into the file at `path`, which is created if missing. A symbolic link is kept; its target is replaced."""
    target = path.resolve()
    write_private(target, _dump(merged(_existing(target) if target.exists() else {}, entry)).encode())


def without(existing: Config, name: str, ca: bytes) -> Config | None:
    """The user's configuration without the cluster of this name and authority; None if it does not contain it.

    Its contexts are removed too, and the users that no other context has.
    """
    ours = {"name": name, "certificate-authority-data": _base64(ca)}
    clusters = [item for item in existing.get("clusters") or [] if not _is_cluster(item, ours)]
    if len(clusters) == len(existing.get("clusters") or []):
        return None
    contexts, gone = _parted(existing.get("contexts") or [], name)
    kept = [_part(each, "context").get("user") for each in contexts]
    orphans = [user for each in gone if (user := _part(each, "context").get("user")) not in kept]
    users = [item for item in existing.get("users") or [] if item.get("name") not in orphans]
    result = {**existing, "clusters": clusters, "contexts": contexts, "users": users}
    if existing.get("current-context") in [each.get("name") for each in gone]:
        result["current-context"] = ""
    return result


def remove_from(path: Path, name: str, ca: bytes) -> bool:
    """Remove a merged cluster from the file at `path`; returns whether it was there."""
    target = path.resolve()
    if not target.is_file() or (rest := without(_existing(target), name, ca)) is None:
        return False
    write_private(target, _dump(rest).encode())
    return True


def _existing(path: Path) -> Config:
    found = kubeconfig.parsed(path, _PlainLoader)
    for section in ("clusters", "users", "contexts"):
        items = found.get(section) or []
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise ValueError(f"{path} is not a kubeconfig: {section} is not a list of named entries")
    return found


def _is_cluster(item: Config, wanted: Config) -> bool:
    authority = _part(item, "cluster").get("certificate-authority-data")
    return bool(item.get("name") == wanted["name"] and authority == wanted["certificate-authority-data"])


def _parted(contexts: list[Config], cluster: str) -> tuple[list[Config], list[Config]]:
    """Contexts of other clusters, and of this one."""
    leading = [_part(each, "context").get("cluster") == cluster for each in contexts]
    pairs = list(zip(contexts, leading, strict=True))
    return [each for each, ours in pairs if not ours], [each for each, ours in pairs if ours]


def _part(item: Config, field: str) -> Config:
    """A part of a named entry; empty if it is not a mapping."""
    part = item.get(field)
    return part if isinstance(part, dict) else {}


def _with_item(items: list[Config], item: Config) -> list[Config]:
    names = [existing.get("name") for existing in items]
    if item["name"] not in names:
        return [*items, item]
    return [item if name == item["name"] else existing for name, existing in zip(names, items, strict=True)]


def _dump(config: Config) -> str:
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=10_000)


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


class _PlainLoader(yaml.SafeLoader):
    """Loads dates as text, so that they are written back unchanged."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
