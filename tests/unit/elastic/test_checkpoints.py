# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from springtide.elastic import leaves
from springtide.elastic.checkpoints import Checkpoints


def test_the_newest_is_found_whole(tmp_path: Path) -> None:
    files = Checkpoints(tmp_path / "new" / "place", every=1)
    assert files.newest() is None
    for boundary in (9, 10, 11):
        files.keep(boundary, f"head {boundary}".encode(), [np.full(3, boundary), np.zeros(0), np.array(boundary / 2)])
    found = files.newest()
    assert found is not None
    head, arrays = found
    wanted = [leaves.Leaf("numpy", "<i8", (3,)), leaves.Leaf("numpy", "<f8", (0,)), leaves.Leaf("numpy", "<f8", ())]
    assert (head, [each.tolist() for each in arrays(wanted)]) == (b"head 11", [[11, 11, 11], [], 5.5])
    assert sorted(path.name for path in (tmp_path / "new" / "place").iterdir()) == [
        "commit-000000000010",
        "commit-000000000011",
    ]


def test_what_a_writer_left_that_was_killed_is_swept_away(tmp_path: Path) -> None:
    (tmp_path / ".commit-000000000001.77").write_bytes(b"half")
    files = Checkpoints(tmp_path, every=1)
    assert files.newest() is None
    files.keep(2, b"", [])
    assert [path.name for path in tmp_path.iterdir()] == ["commit-000000000002"]


def test_a_file_that_somebody_cut_off_is_not_taken_for_whole(tmp_path: Path) -> None:
    files = Checkpoints(tmp_path, every=1)
    files.keep(1, b"", [np.zeros(4)])
    (tmp_path / "commit-000000000001").write_bytes((tmp_path / "commit-000000000001").read_bytes()[:-1])
    found = files.newest()
    assert found is not None
    with pytest.raises(OSError, match="ends too early: delete it"):
        found[1]([leaves.Leaf("numpy", "<f8", (4,))])


def test_nonsense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Checkpoints(tmp_path, every=0)
