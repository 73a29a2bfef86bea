# SPDX-License-Identifier: Apache-2.0
"""The exec sockets that a pod can see: only those of pods in which the API server allowed it to run a command.

    <data>/exec/<uid>.sock           the exec socket of pod <uid>'s shim; no container sees this directory
    <data>/exec/<other>/             mounted into the containers of pod <other> at /run/springtide/exec
    <data>/exec/<other>/pod          the uid of <other>, which the built-in kubectl sends with its requests
    <data>/exec/<other>/<uid>.sock   a hard link to the first, made with the first ticket that <other> gets for <uid>

Links appear in a directory that is mounted already, so a launcher reaches workers that join later without a restart.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from springtide.local.kubelet.node.facts import Facts

NOTE = "pod"


def make(facts: Facts, uid: str) -> Path:
    """Create the directory mounted into a pod's containers; may be repeated at any time."""
    directory = facts.shown_sockets(uid)
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o755)  # a program may run as any user
    note = directory / NOTE
    if not note.exists():
        note.write_text(uid)
        note.chmod(0o644)
    return directory


def name_of(uid: str) -> str:
    return f"{uid}.sock"


def show(directory: Path, uid: str, client: str) -> None:
    """Link a pod's socket into the directory of the pod `client`. ValueError or OSError when there is no such pod
    here."""
    if not client.replace("-", "").isalnum():
        raise ValueError(f"{client[:100]!r} is no uid of a pod")
    socket, link = directory / name_of(uid), directory / client / name_of(uid)
    if link.exists() and link.samefile(socket):
        return
    draft = link.with_name(f"{link.name}.{secrets.token_hex(8)}")
    draft.hardlink_to(socket)
    draft.replace(link)  # replaces the link to an earlier shim's socket


def remove(directory: Path, uid: str) -> None:
    """Remove the socket of a deleted pod, its directory, and the links to its socket in other pods' directories."""
    name = name_of(uid)
    (directory / name).unlink(missing_ok=True)
    for shown in _listed(directory):
        for link in _listed(directory / shown):
            if link.startswith(name):
                (directory / shown / link).unlink(missing_ok=True)
    shutil.rmtree(directory / uid, ignore_errors=True)


def _listed(directory: Path) -> list[str]:
    """Agents of other nodes remove their pods' directories concurrently; `Path.glob` fails when one disappears."""
    try:
        return os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []
