# SPDX-License-Identifier: Apache-2.0
"""Which exec sockets a pod sees: none but those of pods in which the API server let it run a command.

    <data>/exec/<uid>.sock           where the shim of pod <uid> listens; no container sees this directory
    <data>/exec/<other>/             what the containers of pod <other> see at /run/springtide/exec
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
    """The directory that a pod's containers see; may be made again at any time."""
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
    """Let the pod `client` see the socket of another. ValueError or OSError when there is no such pod here."""
    if not client.replace("-", "").isalnum():
        raise ValueError(f"{client[:100]!r} is no uid of a pod")
    socket, link = directory / name_of(uid), directory / client / name_of(uid)
    if link.exists() and link.samefile(socket):
        return
    draft = link.with_name(f"{link.name}.{secrets.token_hex(8)}")
    draft.hardlink_to(socket)
    draft.replace(link)  # of a shim before this one, maybe


def remove(directory: Path, uid: str) -> None:
    """Of a pod that is gone: its socket, what it was shown, and what others were shown of it."""
    name = name_of(uid)
    (directory / name).unlink(missing_ok=True)
    for shown in _listed(directory):
        for link in _listed(directory / shown):
            if link.startswith(name):
                (directory / shown / link).unlink(missing_ok=True)
    shutil.rmtree(directory / uid, ignore_errors=True)


def _listed(directory: Path) -> list[str]:
    """The agents of other nodes remove their pods' directories meanwhile; `Path.glob` fails when one disappears."""
    try:
        return os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []
