# SPDX-License-Identifier: Apache-2.0
"""Which exec sockets a pod sees."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from springtide.local.kubelet.containers import exec_sockets
from springtide.local.kubelet.node.facts import Facts


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    return Facts("n", tmp_path)


def a_shim(facts: Facts, uid: str) -> socket.socket:
    facts.exec_directory.mkdir(exist_ok=True)
    (facts.exec_directory / exec_sockets.name_of(uid)).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(facts.exec_directory / exec_sockets.name_of(uid)))
    listener.listen()
    return listener


def test_a_pod_sees_none_but_its_own_name_at_first(facts: Facts) -> None:
    seen = exec_sockets.make(facts, "a")
    assert {path.name: path.read_text() for path in seen.iterdir()} == {"pod": "a"}
    assert exec_sockets.make(facts, "a") == seen


def test_a_socket_that_is_shown_leads_to_the_shim(facts: Facts) -> None:
    seen = exec_sockets.make(facts, "launcher")
    for _ in range(2):  # the second shim takes the place of the first
        with a_shim(facts, "w"), socket.socket(socket.AF_UNIX) as client:
            exec_sockets.show(facts.exec_directory, "w", "launcher")
            exec_sockets.show(facts.exec_directory, "w", "launcher")
            client.connect(str(seen / "w.sock"))
    assert {path.name for path in seen.iterdir()} == {"pod", "w.sock"}


@pytest.mark.parametrize("client", ["..", ".", "../x", "a/b", "a b", "-", "x" * 5000, "nobody"])
def test_what_is_no_pod_here_is_shown_nothing(facts: Facts, client: str) -> None:
    with a_shim(facts, "w"), pytest.raises((ValueError, OSError)):
        exec_sockets.show(facts.exec_directory, "w", client)
    assert [path.name for path in facts.data_dir.rglob("*")] == ["exec", "w.sock"]


def test_nothing_of_a_pod_is_left(facts: Facts) -> None:
    for uid in ("launcher", "w"):
        exec_sockets.make(facts, uid)
    with a_shim(facts, "w"), a_shim(facts, "launcher"):
        exec_sockets.show(facts.exec_directory, "w", "launcher")
    exec_sockets.remove(facts.exec_directory, "w")
    assert {path.name for path in facts.exec_directory.rglob("*")} == {"launcher", "launcher.sock", "pod"}
    exec_sockets.remove(facts.exec_directory, "launcher")
    assert not list(facts.exec_directory.iterdir())


def test_what_the_agents_of_other_nodes_remove_meanwhile_is_nobody_s_error(
    facts: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They share the directory, and a directory is gone between its listing and a look into it."""
    exec_sockets.make(facts, "w")
    others = [exec_sockets.make(facts, uid) for uid in ("a", "b", "c")]

    def too_late(look: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def looked(path: Any) -> Any:
            if path in others and Path(path).exists():
                (Path(path) / exec_sockets.NOTE).unlink()
                Path(path).rmdir()
            return look(path)

        return looked

    for name in ("scandir", "listdir"):
        monkeypatch.setattr(os, name, too_late(getattr(os, name)))
    exec_sockets.remove(facts.exec_directory, "w")
    monkeypatch.undo()
    exec_sockets.remove(facts.exec_directory, "w")
    assert not list(facts.exec_directory.iterdir())
