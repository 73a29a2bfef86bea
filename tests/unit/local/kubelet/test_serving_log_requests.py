# SPDX-License-Identifier: Apache-2.0
"""Which attempt's log is meant, and the kubelet's words where there is none."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from springtide.local.kubelet.serving.log_requests import Refused, attempt_of, options_of
from springtide.local.kubelet.serving.paths import parse
from springtide.local.pod_logs.reading import Options
from springtide.local.runtime.contract import ContainerState

NOW = datetime(2026, 11, 16, 4, 30, 0, 250_000, tzinfo=UTC)


def options(query: str) -> Options:
    asked = parse(f"/containerLogs/ns/pod/main?{query}")
    assert asked is not None
    return options_of(asked, NOW)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", Options()),
        ("follow=true&timestamps=true", Options(follow=True, timestamps=True)),
        ("follow=false", Options()),
        ("tailLines=0&limitBytes=10", Options(tail=0, limit=10)),
        ("sinceSeconds=60", Options(since="2026-11-16T04:29:00.250000000Z")),
        ("sinceTime=2026-11-16T04:00:00Z", Options(since="2026-11-16T04:00:00.000000000Z")),
        ("sinceTime=2026-11-16T05:00:00%2B01:00", Options(since="2026-11-16T04:00:00.000000000Z")),
        ("stream=All", Options()),
        ("stream=Stderr", Options(stream="stderr")),
    ],
)
def test_a_query_becomes_options(query: str, expected: Options) -> None:
    assert options(query) == expected


@pytest.mark.parametrize(
    ("query", "code"),
    [("tailLines=x", 400), ("tailLines=-1", 422), ("limitBytes=0", 422), ("sinceTime=x", 400),
     ("sinceSeconds=99999999999999", 400), ("stream=stdin", 400)],
)  # fmt: skip
def test_nonsense_is_refused(query: str, code: int) -> None:
    with pytest.raises(Refused) as refused:
        options(query)
    assert refused.value.code == code


@dataclass
class Pod:
    states: dict[str, ContainerState]
    status: dict[str, Any]
    obj: dict[str, Any] = field(
        default_factory=lambda: {
            "metadata": {"name": "pod", "namespace": "ns", "uid": "u"},
            "spec": {"containers": [{"name": "main"}], "initContainers": [{"name": "first"}]},
        }
    )
    address: str = ""
    shim: None = None
    is_mirror: bool = False

    def log_text(
        self, container: str, attempt: int, options: Options, running: Callable[[], bool]
    ) -> AsyncGenerator[bytes, None]:
        raise NotImplementedError


def a_pod(state: ContainerState | None = None, reported: dict[str, Any] | None = None) -> Pod:
    statuses = [{"name": "main", "state": reported}] if reported is not None else []
    return Pod({"main": state} if state else {}, {"containerStatuses": statuses})


def running(attempt: int) -> ContainerState:
    return ContainerState("main", attempt, "running")


def ended(attempt: int) -> ContainerState:
    return ContainerState("main", attempt, "exited", exit_code=1)


BACK_OFF = {"waiting": {"reason": "CrashLoopBackOff"}}
TERMINATED = {"terminated": {"exitCode": 1}}


@pytest.mark.parametrize(
    ("pod", "previous", "attempt"),
    [
        (a_pod(running(0)), False, 0),
        (a_pod(running(3)), False, 3),
        (a_pod(running(3)), True, 2),
        (a_pod(ended(3), BACK_OFF), False, 3),
        (a_pod(ended(3), BACK_OFF), True, 3),
        (a_pod(ended(3), TERMINATED), True, 2),
    ],
)
def test_an_attempt_is_chosen(pod: Pod, previous: bool, attempt: int) -> None:
    assert attempt_of(pod, "main", previous) == attempt


@pytest.mark.parametrize(
    ("pod", "container", "previous", "code", "message"),
    [
        (a_pod(), "other", False, 404, 'container "other" not found in pod "pod"'),
        (a_pod(), "main", False, 400, 'container "main" in pod "pod" is not available'),
        (
            a_pod(None, {"waiting": {"reason": "ContainerCreating"}}),
            "main",
            False,
            400,
            'container "main" in pod "pod" is waiting to start: ContainerCreating',
        ),
        (a_pod(None, {}), "main", False, 400, 'container "main" in pod "pod" is waiting to start - no logs yet'),
        (a_pod(running(0)), "main", True, 400, 'previous terminated container "main" in pod "pod" not found'),
        (a_pod(), "main", True, 400, 'previous terminated container "main" in pod "pod" not found'),
    ],
)
def test_a_missing_log_is_explained(pod: Pod, container: str, previous: bool, code: int, message: str) -> None:
    with pytest.raises(Refused) as refused:
        attempt_of(pod, container, previous)
    assert (refused.value.code, refused.value.message) == (code, message)
