# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from springtide.elastic import State, leaves
from springtide.elastic.ranks.checkpoints import Checkpoints


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
    draft = tmp_path / ".commit-000000000001.77"
    draft.write_bytes(b"half")
    files = Checkpoints(tmp_path, every=1)
    assert files.newest() is None
    files.keep(2, b"", [])
    assert draft.exists(), "it may be of a run before ours, which has not heard yet that it is over"
    os.utime(draft, (0, 0))
    files.keep(3, b"", [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["commit-000000000002", "commit-000000000003"]


def spoil(path: Path, how: str) -> None:
    content = path.read_bytes()
    half = len(content) // 2
    changes = {
        "cut off": content[:-1],
        "cut off in its head": content[:12],
        "empty": b"",
        "longer": content + b"x",
        "another byte": content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :],
        "another beginning": b"x" + content[1:],
        "zeros, as after a power cut": bytes(len(content)),
    }
    path.write_bytes(changes[how])


@pytest.mark.parametrize(
    "how",
    [
        "cut off",
        "cut off in its head",
        "empty",
        "longer",
        "another byte",
        "another beginning",
        "zeros, as after a power cut",
    ],
)
def test_of_a_damaged_file_the_one_before_it_is_used_and_that_is_said(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    files = Checkpoints(tmp_path, every=1)
    for boundary in (1, 2):
        files.keep(boundary, f"head {boundary}".encode(), [np.full(4, boundary)])
    spoil(tmp_path / "commit-000000000002", how)
    found = files.newest()
    assert found is not None
    assert (found[0], found[1]([leaves.Leaf("numpy", "<i8", (4,))])[0].tolist()) == (b"head 1", [1, 1, 1, 1])
    assert [record.getMessage().replace(f"{tmp_path}/", "") for record in caplog.records] == [
        "commit-000000000002 is damaged, now called damaged-commit-000000000002: looking for the one before it",
        "training continues from commit-000000000001",
    ]
    files.keep(2, b"head 2 again", [])
    found = files.newest()
    assert found is not None
    assert found[0] == b"head 2 again", "the damaged one is in nobody's way"


def test_nonsense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Checkpoints(tmp_path, every=0)


def test_training_goes_on_without_a_checkpoint_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    files = Checkpoints(tmp_path, every=1)
    files.keep(1, b"head", [])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        files.keep(2, b"head", [])
    assert "commit-000000000002 cannot be written" in caplog.text
    assert [path.name for path in tmp_path.iterdir()] == ["commit-000000000001"], "the draft takes no more room"
    files.keep(3, b"head", [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["commit-000000000001", "commit-000000000003"]


def test_a_directory_that_cannot_be_written_to_shows_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        State(checkpoint=tmp_path / "file" / "run", step=0).begin()
    State(checkpoint=tmp_path / "run", step=0).begin()
    assert list((tmp_path / "run").iterdir()) == []
