# SPDX-License-Identifier: Apache-2.0
"""Which process forwards to a TensorBoard."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from springtide.cli import places
from springtide.cli.jobs.tensorboard import forwarded_ports


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield
    assert not [each for each in forwarded_files() if forwarded_ports.port(each)]


def forwarded_files() -> list[str]:
    return sorted(each.name for each in places.forwarded_ports().iterdir()) if places.forwarded_ports().exists() else []


def test_a_port_is_known_as_long_as_it_is_forwarded() -> None:
    assert not forwarded_ports.any_are_held()
    with forwarded_ports.held("a") as holder:
        assert holder is not None
        assert forwarded_ports.port("a") is None  # not listening yet
        holder.write(4321)
        assert forwarded_ports.any_are_held()
        assert forwarded_ports.port("a") == 4321
    assert forwarded_ports.port("a") is None
    assert forwarded_files() == []


def test_only_one_forwards_to_the_same() -> None:
    with forwarded_ports.held("a") as holder, forwarded_ports.held("b") as other:
        assert holder is not None
        assert other is not None
        holder.write(4321)
        other.write(4322)
        with forwarded_ports.held("a") as second:
            assert second is None
        assert (forwarded_ports.port("a"), forwarded_ports.port("b")) == (4321, 4322)


def test_the_file_of_a_killed_process_means_nothing_and_is_removed() -> None:
    places.forwarded_ports().mkdir(parents=True)
    for uid in ("a", "b"):
        (places.forwarded_ports() / uid).write_text("4321\n")
    assert forwarded_ports.port("a") is None
    with forwarded_ports.held("a") as holder:
        assert holder is not None
        assert forwarded_ports.port("a") is None
        holder.write(4322)
        assert forwarded_ports.port("a") == 4322
        assert forwarded_files() == ["a"]


def test_a_process_that_looks_does_not_keep_another_from_forwarding() -> None:
    """It has a lock for a moment, too."""
    places.forwarded_ports().mkdir(parents=True)
    (places.forwarded_ports() / "a").touch()
    looked = [forwarded_ports.port("a") for _ in range(3)]
    with forwarded_ports.held("a") as holder:
        assert holder is not None
    assert looked == [None] * 3
    assert os.listdir(places.forwarded_ports()) == []
