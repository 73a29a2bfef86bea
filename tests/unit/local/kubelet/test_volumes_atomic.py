# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from springtide.local.kubelet.volumes import atomic
from springtide.local.kubelet.volumes.atomic import File, PathError

NOW = datetime(2026, 11, 16, 4, 30, tzinfo=UTC)


def put(volume: Path, **files: str) -> bool:
    return atomic.write(volume, {name: File(text.encode(), 0o644) for name, text in files.items()}, NOW)


def seen(volume: Path) -> dict[str, str]:
    """What a program sees that lists the volume and reads what is in it."""
    return {
        str(path.relative_to(volume)): path.read_text()
        for entry in volume.iterdir()
        if not entry.name.startswith("..")
        for path in ([entry] if entry.is_file() else entry.rglob("*"))
        if path.is_file()
    }


def generations(volume: Path) -> list[str]:
    return [entry.name for entry in volume.iterdir() if entry.name.startswith("..2026")]


def test_files_are_links_into_the_data_directory(tmp_path: Path) -> None:
    volume = tmp_path / "v"
    atomic.write(volume, {"hosts": File(b"a\n", 0o600), "deep/er/x": File(b"b", 0o755)}, NOW)
    assert os.readlink(volume / "hosts") == "..data/hosts"
    assert os.readlink(volume / "deep") == "..data/deep"
    assert os.readlink(volume / "..data") == generations(volume)[0]
    assert generations(volume)[0].startswith("..2026_11_16_04_30_00.")
    assert seen(volume) == {"hosts": "a\n", "deep/er/x": "b"}
    assert (volume / "hosts").stat().st_mode & 0o777 == 0o600
    assert (volume / "deep/er/x").stat().st_mode & 0o777 == 0o755


def test_new_contents_replace_the_old_at_once(tmp_path: Path) -> None:
    put(tmp_path, a="1", b="2")
    before = os.readlink(tmp_path / "..data")
    assert put(tmp_path, a="3", c="4")
    assert seen(tmp_path) == {"a": "3", "c": "4"}
    assert os.readlink(tmp_path / "..data") != before
    assert len(generations(tmp_path)) == 1
    assert not (tmp_path / "b").is_symlink()


def test_equal_contents_change_nothing(tmp_path: Path) -> None:
    put(tmp_path, a="1")
    before = os.readlink(tmp_path / "..data")
    assert not put(tmp_path, a="1")
    assert os.readlink(tmp_path / "..data") == before


def test_whatever_the_umask_other_users_may_read(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        put(tmp_path / "v", **{"deep/er/x": "1"})
    finally:
        os.umask(before)
    for path in ("v", "v/deep", "v/deep/er"):
        assert (tmp_path / path).stat().st_mode & 0o777 == 0o755


def test_an_empty_volume_is_one_as_well(tmp_path: Path) -> None:
    assert put(tmp_path)
    assert seen(tmp_path) == {}
    assert not put(tmp_path)


@pytest.mark.parametrize("step", ["_publish", "_show", "_sweep"])
def test_a_writer_killed_halfway_is_succeeded(tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, a="1", b="2")

    class KilledError(Exception):
        pass

    def killed(*args: object) -> None:
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(atomic, step, killed)
        with pytest.raises(KilledError):
            put(tmp_path, a="2", c="3")
    assert (tmp_path / "a").read_text() in ("1", "2")
    put(tmp_path, a="2", c="3")
    assert seen(tmp_path) == {"a": "2", "c": "3"}
    assert len(generations(tmp_path)) == 1


def test_a_link_left_by_a_killed_writer_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "..data_tmp").symlink_to("nowhere")
    put(tmp_path, a="1")
    assert seen(tmp_path) == {"a": "1"}


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("", 'invalid path: must not be empty: ""'),
        ("/etc/x", "invalid path: must be relative path: /etc/x"),
        ("a/../../x", "invalid path: must not contain '..': a/../../x"),
        ("..data", "invalid path: must not start with '..': ..data"),
        ("a" * 256, "invalid path: filenames must be less than or equal to 255 characters"),
        ("a/" * 2100, "invalid path: must be less than or equal to 4096 characters"),
    ],
)
def test_paths_that_would_leave_the_volume_are_refused(tmp_path: Path, path: str, complaint: str) -> None:
    with pytest.raises(PathError) as caught:
        atomic.write(tmp_path / "v", {path: File(b"", 0o644)}, NOW)
    assert str(caught.value) == complaint


def test_owners_are_set_before_anything_shows(tmp_path: Path) -> None:
    shown: list[bool] = []
    atomic.write(tmp_path, {"a": File(b"", 0o644)}, NOW, lambda tree: shown.append((tree / "a").exists()))
    assert shown == [False]


NAMES = st.sampled_from(["a", "b", "c.txt", "d/e", "d/f", "g/h/i"])


@given(st.lists(st.dictionaries(NAMES, st.text(max_size=3)), max_size=5))
def test_whatever_was_there_the_volume_holds_the_last_contents(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[dict[str, str]]
) -> None:
    volume = tmp_path_factory.mktemp("v")
    for files in rounds:
        atomic.write(volume, {name: File(text.encode(), 0o644) for name, text in files.items()}, NOW)
        found = {str(path.relative_to(volume)) for path in map(Path, _walk(volume))}
        assert found == set(files)
        assert all((volume / name).read_bytes() == text.encode() for name, text in files.items())
        assert len(generations(volume)) == 1


def _walk(volume: Path) -> list[str]:
    tops = [entry for entry in volume.iterdir() if not entry.name.startswith("..")]
    return [
        str(path) for top in tops for path in ([top] if top.is_file() else [p for p in top.rglob("*") if p.is_file()])
    ]
