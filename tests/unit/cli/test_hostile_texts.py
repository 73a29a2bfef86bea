# SPDX-License-Identifier: Apache-2.0
"""A server whose every text would control a terminal, or a shell that completes it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.cli import fake_cluster
from tests.unit.cli.fake_cluster import FakeCluster
from tests.unit.views.builders import a_job, a_pod, stamp

from springtide.cli.arena import log_lines, outputs
from springtide.cli.arena.log_lines import Level
from springtide.cli.completion import choices
from springtide.cli.completion.words import is_plain
from springtide.cli.connecting import explained
from springtide.cli.tide_jobs.explain import explain
from springtide.cli.tide_jobs.get import get
from springtide.cli.tide_jobs.list import list_
from springtide.cli.tide_jobs.top import top
from springtide.kube import errors
from springtide.views import arena_tables
from springtide.views.events import events_of
from springtide.views.jobs import job_view

EVIL = "e\x1b]52;c;cm0gLXJm\x07\x1b[2J\u202ev\ri\x9bl"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
NAME = f"bert{EVIL}"


def a_hostile_job() -> dict[str, Any]:
    progress = {"step": 4, "loss": EVIL, "ranks": 2}
    failed = {"type": "Failed", "status": "True", "reason": EVIL, "message": EVIL, "lastTransitionTime": stamp(3)}
    words: dict[str, Any] = {"state": "Failed", "workers": EVIL, "explanation": EVIL, "node": EVIL}
    labels = {"modelName": EVIL, "modelVersion": EVIL, "priority": EVIL}
    return a_job(name=NAME, labels=labels, progress=progress, conditions=[failed], **words)


def a_hostile_pod(job: dict[str, Any]) -> dict[str, Any]:
    pod = a_pod(job, "launcher")
    pod["metadata"]["name"] += EVIL
    pod["spec"]["nodeName"] = EVIL
    waiting = {"waiting": {"reason": EVIL, "message": EVIL}}
    pod["status"] = {"phase": "Pending", "hostIP": EVIL, "containerStatuses": [{"name": "main", "state": waiting}]}
    return pod


def a_hostile_event(job: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": f"TrainingJob{EVIL}", "name": NAME, "uid": job["metadata"]["uid"]},
        "type": EVIL,
        "reason": EVIL,
        "message": EVIL,
        "lastTimestamp": stamp(5),
    }


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (list_, []),
        (list_, ["-A", "-o", "wide"]),
        (list_, ["-o", "custom-columns=NAME:.name,WHY:.explanation"]),
        (get, [NAME, "-e", "-g"]),
        (get, ["missing"]),
        (top, ["job"]),
        (explain, [NAME]),
        (explain, [NAME, "-o", "json"]),
    ],
)
def test_nothing_that_is_printed_controls_the_terminal(
    command: Any, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = a_hostile_job()
    cluster = FakeCluster(job, a_hostile_pod(job), a_hostile_event(job))
    found = fake_cluster.run(cluster, command, *words, monkeypatch=monkeypatch)
    assert found.exception is None or isinstance(found.exception, SystemExit)
    assert "e]52;c;" in found.output or found.output.isascii()
    assert not OBEYED.search(found.output)


def test_programs_get_every_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    found = fake_cluster.run(
        FakeCluster(a_hostile_job()), list_, "-o", "jsonpath={[0].explanation}", monkeypatch=monkeypatch
    )
    assert found.output == f"{EVIL}\n"


@pytest.mark.parametrize("kind", [errors.ApiError, errors.Forbidden, errors.Unreachable, errors.Malformed])
def test_what_a_server_answers_controls_nothing(kind: type[errors.ApiError]) -> None:
    lines = "\n".join(explained(kind(EVIL)).lines())
    assert "e]52;c;" in lines
    assert not OBEYED.search(lines)


def test_arenas_pages_control_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    job, now = a_hostile_job(), datetime.now(UTC)
    view = job_view(job, [a_hostile_pod(job)])
    outputs.show_page(arena_tables.job_list([view], now))
    outputs.show_page(arena_tables.job_page(view, now, gpus=True, events=events_of(view, [a_hostile_event(job)])))
    outputs.show_page(arena_tables.top_job(view, now))
    shown = capsys.readouterr().out
    assert shown.count("e]52;c;") > 10
    assert not OBEYED.search(shown)


def test_arenas_log_lines_control_nothing() -> None:
    assert not OBEYED.search(log_lines.on_terminal(Level.ERROR, EVIL, 0, colours=False))
    assert not OBEYED.search(log_lines.in_file(Level.ERROR, EVIL, datetime.now(UTC)))


# Completion


@pytest.mark.parametrize("name", ["bert", "bert-worker-0", "node1.example.com", "a,b", "torch==2.1", "/tmp/a"])
def test_plain_names_are_offered(name: str) -> None:
    assert is_plain(name)
    assert [each.value for each in choices._offered([name], "")] == [name]


@pytest.mark.parametrize(
    "name", ["$(touch x)", "`id`", "a b", "a;b", "-f", "--yes", "*", "~", "a'b", 'a"b', "a\nb", "a\\b", "", EVIL, "a|b"]
)
def test_names_that_a_shell_would_read_otherwise_are_not_offered(name: str) -> None:
    assert not is_plain(name)
    assert choices._offered([name], "") == []
