# SPDX-License-Identifier: Apache-2.0
"""A cluster in a directory of its own gets that directory's name, so that kubeconfig entries do not collide."""

from __future__ import annotations

from pathlib import Path

import pytest

from springtide.cli.options import chosen
from springtide.local.datadir import DataDir


@pytest.mark.parametrize(
    ("directory", "name"),
    [("third", "third"), ("My_Third Cluster", "my-third-cluster"), ("___", "springtide"), ("x" * 80, "x" * 63)],
)
def test_without_a_name_the_directory_gives_it(tmp_path: Path, directory: str, name: str) -> None:
    assert chosen(None, tmp_path / directory).name == name


def test_a_name_that_was_given_counts(tmp_path: Path) -> None:
    assert chosen("mine", tmp_path / "third").name == "mine"


def test_a_directory_that_was_removed_or_replaced_is_no_longer_ours(tmp_path: Path) -> None:
    place = DataDir(tmp_path / "cluster")
    place.acquire()
    assert place.is_still_there()
    (tmp_path / "cluster").rename(tmp_path / "elsewhere")
    assert not place.is_still_there()
    other = DataDir(tmp_path / "cluster")
    other.acquire()
    assert not place.is_still_there()
    other.release()
    place.release()
