# SPDX-License-Identifier: Apache-2.0
"""What a script is believed that no longer names a host, and one that cannot be asked."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest

from springtide.elastic.launcher import discovery
from springtide.elastic.launcher.discovery import Discovery, DiscoveryError, confirmed
from springtide.elastic.shared.orphan_guard import OrphanGuard

BOTH = {"a": 1, "b": 2}


def test_a_host_that_is_missing_twice_is_gone() -> None:
    assert confirmed(BOTH, {"a": 1}, {"a": 1}) == {"a": 1}
    assert confirmed(BOTH, {}, {}) == {}


def test_a_host_that_is_missing_once_is_there() -> None:
    assert confirmed(BOTH, {"a": 1}, BOTH) == BOTH
    assert confirmed(BOTH, {"a": 1}, {"b": 2}) == BOTH


def test_fewer_slots_are_believed_when_they_are_said_twice() -> None:
    assert confirmed(BOTH, {"a": 1, "b": 1}, {"a": 1, "b": 1}) == {"a": 1, "b": 1}
    assert confirmed(BOTH, {"a": 1, "b": 0}, {"a": 1, "b": 1}) == {"a": 1, "b": 1}


def test_a_new_host_is_there_at_once() -> None:
    assert confirmed(BOTH, {"a": 1}, {"a": 1, "c": 1}) == {"a": 1, "c": 1}


@pytest.mark.parametrize(("script", "missing"), [("exit 1", False), ("/no/such/script", True), ("exit 126", True)])
async def test_a_script_that_is_not_there_is_told_from_one_that_fails(script: str, missing: bool) -> None:
    async for found in Discovery(script, None, OrphanGuard()).changes():
        assert isinstance(found, DiscoveryError)
        assert found.missing == missing
        break


async def test_a_script_that_cannot_be_asked_for_lack_of_descriptors_is_asked_again() -> None:
    changes = Discovery("echo a:1", None, OrphanGuard()).changes()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        trouble = await anext(changes)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert isinstance(trouble, DiscoveryError)
    assert str(trouble) == "echo a:1 cannot be asked now: Too many open files"
    assert await anext(changes) == {"a": 1}


async def test_what_a_script_leaves_behind_keeps_nobody(tmp_path: Path) -> None:
    script = (
        f"setsid sh -c 'echo $$ > {tmp_path}/pid; exec sleep 60' & echo a:1; while ! [ -s {tmp_path}/pid ]; do :; done"
    )
    try:
        assert await anext(Discovery(script, None, OrphanGuard()).changes()) == {"a": 1}
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


async def test_only_so_much_is_listened_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "_PATIENCE", 2.0)
    trouble = await anext(Discovery("yes", None, OrphanGuard()).changes())
    assert str(trouble) == "yes printed more than 1 MiB"
