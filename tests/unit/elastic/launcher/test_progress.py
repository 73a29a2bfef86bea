# SPDX-License-Identifier: Apache-2.0
"""How far a run has come: what is said of it, and when."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from springtide.elastic.launcher.progress import Moment, Pod, Progress, Throttle
from springtide.elastic.launcher.state_machine.membership_changes import Change, Idle

SOME = Progress(2, ("a", "b"), 1, {"step": 4, "loss": 0.5}, training_hosts=2)
MOMENT = Moment(100.0, datetime(2030, 1, 2, 3, 4, 5, 678900, UTC))


def test_it_is_one_line_of_json() -> None:
    assert SOME.written(MOMENT) == (
        '{"springtide":"progress","at":"2030-01-02T03:04:05.678Z","size":2,"hosts":["a","b"],"training_hosts":2,'
        '"step":4,"loss":0.5}'
    )


def test_changes_have_times_of_day_and_lines_only_those_that_are_new() -> None:
    lost = Change(1, 95.0, "lost", 1, ("b",), rank=1, why="was killed by SIGKILL")
    joined = Change(2, 99.5, "joined", 2, ("c",), rank=1)
    idle = Idle("b", "is in back-off after a failure", 105.0)
    told = replace(SOME, words={"changes": "none", "idle": 0}, idle=(idle,), changes=(lost, joined))
    written = json.loads(told.written(MOMENT))
    assert written["changes"] == [
        {
            "number": 1,
            "at": "2030-01-02T03:04:00.678Z",
            "what": "lost",
            "size": 1,
            "hosts": ["b"],
            "count": 1,
            "rank": 1,
            "why": "was killed by SIGKILL",
        },
        {
            "number": 2,
            "at": "2030-01-02T03:04:05.178Z",
            "what": "joined",
            "size": 2,
            "hosts": ["c"],
            "count": 1,
            "rank": 1,
        },
    ]
    assert written["idle"] == [
        {"host": "b", "why": "is in back-off after a failure", "until": "2030-01-02T03:04:10.678Z"}
    ]
    assert [each["number"] for each in json.loads(told.written(MOMENT, after=1))["changes"]] == [2]
    assert "changes" not in json.loads(told.written(MOMENT, after=2))


def test_a_change_of_the_membership_is_told_at_once() -> None:
    pace = Throttle()
    assert pace.due(SOME, 0)
    assert pace.due(replace(SOME, changes=(Change(1, 0.0, "joined", 2, ("b",)),)), 0.1)
    assert pace.due(replace(SOME, idle=(Idle("b", "does not answer"),)), 0.2)


def test_a_program_cannot_say_what_is_ours_to_say() -> None:
    assert '"size":2' in replace(SOME, words={"size": 9, "hosts": []}).written(MOMENT)


def test_hosts_are_told_at_once_and_the_rest_now_and_then() -> None:
    pace = Throttle()
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
