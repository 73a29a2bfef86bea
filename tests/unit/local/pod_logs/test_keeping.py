# SPDX-License-Identifier: Apache-2.0
"""Keeping the logs of removed pods: what is kept of a pod, and the bounds of all of them."""

from __future__ import annotations

import asyncio
import uuid
from functools import partial
from pathlib import Path

import pytest

from springtide.local.pod_logs import keeping, kept
from springtide.local.pod_logs.kept import Entry, Pod
from springtide.local.pod_logs.reading import Options, files_of, text

RECORD = b"2026-01-01T00:00:00.000000000Z stdout F %06d\n"


def a_log(data: Path, name: str = "w", namespace: str = "team", *, card: bool = True, **attempts: bytes) -> Path:
    uid = str(uuid.uuid4())
    logs = data / "logs" / f"{namespace}_{name}_{uid}"
    logs.mkdir(parents=True)
    if card:
        kept.write_card(logs, Pod(namespace, name, uid, "mnist"))
    for attempt, content in (attempts or {"main_0": RECORD % 1}).items():
        container, _, number = attempt.partition("_")
        (logs / container).mkdir(exist_ok=True)
        (logs / container / f"{number}.log").write_bytes(content)
    return logs


def entries(data: Path) -> list[Entry]:
    return kept.entries(data / kept.KEPT)


async def shown(directory: Path, container: str, attempt: int) -> bytes:
    files = partial(files_of, directory / container, attempt)
    return b"".join([chunk async for chunk in text(files, Options(), lambda: False)])


async def test_logs_of_a_training_pod_are_kept(tmp_path: Path) -> None:
    logs = a_log(tmp_path)
    keeping.keep(tmp_path, logs)
    assert not logs.exists()
    [entry] = entries(tmp_path)
    assert await shown(entry.path, "main", 0) == b"000001\n"


@pytest.mark.parametrize("attempts", [{}, {"main_0": b""}])
def test_logs_without_a_card_are_removed(tmp_path: Path, attempts: dict[str, bytes]) -> None:
    logs = a_log(tmp_path, "w", "team", card=False, **attempts)
    keeping.keep(tmp_path, logs)
    assert not logs.exists()
    assert not entries(tmp_path)


def test_a_pod_that_never_wrote_a_log_leaves_nothing(tmp_path: Path) -> None:
    logs = a_log(tmp_path)
    (logs / "main" / "0.log").unlink()
    keeping.keep(tmp_path, logs)
    assert not logs.exists()
    assert not entries(tmp_path)


def test_logs_that_are_gone_already_are_no_error(tmp_path: Path) -> None:
    keeping.keep(tmp_path, tmp_path / "logs" / "nothing")
    assert not entries(tmp_path)


def test_two_attempts_of_a_container_are_kept(tmp_path: Path) -> None:
    logs = a_log(tmp_path, main_0=b"", main_1=b"", main_2=RECORD % 2, main_11=RECORD % 11, init_0=RECORD % 0)
    keeping.keep(tmp_path, logs)
    assert kept.attempts(entries(tmp_path)[0].path) == {"init": [0], "main": [2, 11]}


async def test_the_last_records_of_huge_logs_are_kept_in_equal_shares(tmp_path: Path) -> None:
    huge = b"".join(RECORD % number for number in range(100_000))
    assert len(huge) > keeping.OF_A_POD
    logs = a_log(tmp_path, a_0=huge, b_0=huge, c_0=RECORD % 7)
    keeping.keep(tmp_path, logs)
    [entry] = entries(tmp_path)
    assert entry.kib <= keeping.OF_A_POD // 1024 + 64
    for container in "ab":
        lines = (await shown(entry.path, container, 0)).splitlines()
        assert lines[-1] == b"099999"
        assert all(len(line) == 6 for line in lines)
        assert len(lines) == pytest.approx(keeping.OF_A_POD / 3 / len(RECORD % 0), abs=2)
    assert await shown(entry.path, "c", 0) == b"000007\n"


async def test_rotated_files_share_the_room_of_their_attempt(tmp_path: Path) -> None:
    half = b"".join(RECORD % number for number in range(keeping.OF_A_POD // 2 // len(RECORD % 0)))
    logs = a_log(tmp_path, main_0=RECORD % 1, main_1=half)
    for moment in ("20260101-000000.0", "20260101-000001.0", "20260101-000002.0"):
        (logs / "main" / f"1.log.{moment}").write_bytes(half)
    keeping.keep(tmp_path, logs)
    [entry] = entries(tmp_path)
    files = files_of(entry.path / "main", 1)
    assert sum(path.stat().st_size for path in files) <= keeping.OF_A_POD
    assert len(files) == 3
    assert await shown(entry.path, "main", 0) == b""  # there was no room left for it, but it is known


def test_a_line_longer_than_all_room_leaves_an_empty_log(tmp_path: Path) -> None:
    logs = a_log(tmp_path, main_0=b"x" * (keeping.OF_A_POD + 10))
    keeping.keep(tmp_path, logs)
    [entry] = entries(tmp_path)
    assert (entry.path / "main" / "0.log").stat().st_size == 0


def test_a_disk_that_cannot_be_written_loses_the_logs_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / kept.KEPT).write_text("a file in the way")
    logs = a_log(tmp_path)
    keeping.keep(tmp_path, logs)
    assert not logs.exists()


def test_an_interrupted_removal_is_finished_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "doomed", lambda found: found[:-1])
    keeping.keep(tmp_path, a_log(tmp_path))
    half = tmp_path / kept.KEPT / f"{kept.REMOVING}{uuid.uuid4()}"
    (half / "main").mkdir(parents=True)
    keeping.keep(tmp_path, a_log(tmp_path))
    assert len(entries(tmp_path)) == 1
    assert not half.exists()


def test_keeping_is_repeated_after_a_kill_at_any_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`SystemExit` passes all handlers, as a kill does, at each call into the system."""

    class Killed(BaseException): ...

    def killing(at: int) -> None:
        left = at

        def step(real: object, *args: object, **rest: object) -> object:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return real(*args, **rest)  # type: ignore[operator]

        for owner, name in ((Path, "rename"), (Path, "replace"), (Path, "unlink")):
            real = originals[name]
            monkeypatch.setattr(owner, name, lambda *a, real=real, **k: step(real, *a, **k))

    originals = {name: getattr(Path, name) for name in ("rename", "replace", "unlink")}
    huge = b"".join(RECORD % number for number in range(100_000))
    for at in range(5):
        data = tmp_path / str(at)
        logs = a_log(data, main_0=b"", main_1=RECORD % 1, main_2=huge)
        killing(at)
        try:
            keeping.keep(data, logs)
        except Killed:
            for name, real in originals.items():
                monkeypatch.setattr(Path, name, real)
            keeping.keep(data, logs)
        for name, real in originals.items():
            monkeypatch.setattr(Path, name, real)
        [entry] = entries(data)
        assert asyncio.run(shown(entry.path, "main", 2)).endswith(b"099999\n")
        assert not logs.exists()


# Bounds


def an_entry(namespace: str, removed: int, kib: int) -> Entry:
    return Entry(removed, str(removed), namespace, kib, Path(), f"{namespace}-{removed}")


def names(found: list[Entry]) -> list[str]:
    return [str(entry.path) for entry in found]


@pytest.mark.parametrize(
    ("found", "gone"),
    [
        ([], []),
        ([("a", 500), ("a", 500)], []),
        ([("a", 500), ("a", 500), ("a", 100)], ["a-0"]),
        ([("a", 10), ("b", 500), ("b", 500), ("b", 100)], ["b-1"]),
        ([("a", 600), ("b", 300), ("b", 200)], ["a-0"]),
        ([("a", 2000)], ["a-0"]),
        ([("a", 1), ("b", 1), ("b", 1), ("b", 1), ("b", 1)], ["b-1"]),
    ],
)
def test_the_oldest_of_the_namespace_with_most_logs_are_removed(found: list[tuple[str, int]], gone: list[str]) -> None:
    listed = [an_entry(namespace, index, kib) for index, (namespace, kib) in enumerate(found)]
    assert names(keeping.doomed(listed, total=1000 << 10, most=4)) == gone


def test_the_total_holds_on_disk_with_many_pods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = keeping.doomed
    monkeypatch.setattr(keeping, "doomed", lambda found: real(found, total=400 << 10, most=20))
    keeping.keep(tmp_path, a_log(tmp_path, namespace="quiet"))
    for index in range(60):
        keeping.keep(tmp_path, a_log(tmp_path, f"w-{index}", main_0=b"x" * (index % 7) * 16 * 1024))
        left = entries(tmp_path)
        assert len(left) <= 20
        assert sum(entry.kib for entry in left) <= 400
    assert any(entry.namespace == "quiet" for entry in left)
    assert left[-1].path.name.startswith("team_w-59_")


def test_logs_of_a_deleted_namespace_are_removed(tmp_path: Path) -> None:
    for namespace in ("team", "team-b", "tea"):
        keeping.keep(tmp_path, a_log(tmp_path, namespace=namespace))
    keeping.remove_of_namespace(tmp_path, "team")
    assert sorted(entry.namespace for entry in entries(tmp_path)) == ["tea", "team-b"]
