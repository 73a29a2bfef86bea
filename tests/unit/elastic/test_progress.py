# SPDX-License-Identifier: Apache-2.0
"""How far a run has come: what is said of it, and when."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from springtide.elastic.progress import Pace, Pod, Progress

SOME = Progress(2, ("a", "b"), 1, {"step": 4, "loss": 0.5})


def test_it_is_one_line_of_json() -> None:
    written = SOME.written(datetime(2030, 1, 2, 3, 4, 5, 678900, UTC))
    assert written == (
        '{"springtide":"progress","at":"2030-01-02T03:04:05.678Z","size":2,"hosts":["a","b"],"step":4,"loss":0.5}'
    )


def test_a_program_cannot_say_what_is_ours_to_say() -> None:
    assert '"size":2' in replace(SOME, words={"size": 9, "hosts": []}).written(datetime(2030, 1, 1, tzinfo=UTC))


def test_hosts_are_told_at_once_and_the_rest_now_and_then() -> None:
    pace = Pace()
    assert pace.due(SOME, 0)
    assert not pace.due(SOME, 100)
    later = replace(SOME, words={"step": 5})
    assert not pace.due(later, 9)
    assert pace.due(later, 11)
    assert pace.due(replace(later, hosts=("a",)), 11.1)
    assert pace.due(replace(later, hosts=("a",), listing=2), 11.2)


def account(folder: Path) -> Path:
    (folder / "token").write_text("t")
    (folder / "namespace").write_text("team\n")
    return folder


def test_the_pod_is_found_by_what_a_pod_has(tmp_path: Path) -> None:
    words = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443", "HOSTNAME": "job-launcher"}
    assert Pod.found(words, account(tmp_path)) == Pod("10.0.0.1", 443, "team", "job-launcher", tmp_path)
    named = Pod.found(words | {"POD_NAME": "p"}, tmp_path)
    assert named is not None
    assert named.name == "p"


def test_there_is_no_pod_elsewhere(tmp_path: Path) -> None:
    assert Pod.found({"HOSTNAME": "laptop"}, account(tmp_path)) is None
    assert Pod.found({"HOSTNAME": "x", "KUBERNETES_SERVICE_HOST": "y"}, tmp_path) is None
    assert Pod.found({"HOSTNAME": "x", "KUBERNETES_SERVICE_HOST": "y"}, tmp_path / "none") is None
