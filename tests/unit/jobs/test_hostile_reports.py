# SPDX-License-Identifier: Apache-2.0
"""Whatever a launcher, a program or a kubelet says: people see text of bounded length that no terminal obeys."""

from __future__ import annotations

import gc
import json
import sys
import unicodedata
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

import msgspec
import pytest
from tests.unit.controllers.cached import made, pod_view
from tests.unit.jobs.builders import elastic, running
from tests.unit.jobs.simulated import Cluster

from springtide.controllers import observing
from springtide.controllers.inquiring import EventView, newest
from springtide.jobs.endings import causes
from springtide.jobs.observed import Waiting
from springtide.jobs.reporting import progress, quoting, wait_causes
from springtide.kube.resources import PODS

HOSTILE: Final = {
    "clears the screen": "\x1b[2J\x1b[H",
    "sets the title": "\x1b]0;owned\x07",
    "of eight bits": "\x9b2J",
    "another line": "fine\n\nWarning  Deleted  all is lost",
    "overwrites": "fine\rWarning",
    "zero": "a\0b",
    "rewinds": "abc\b\b\b",
    "right to left": "\u202egpj.exe\u2066",
    "nothing to see": "\u200b\ufeff\U000e0041",
    "line separators": "a\u2028b\u2029c\x85d",
    "long": "x" * 3000,
    "long and hostile": "\x1b\u202e" * 500,
}
LEGITIMATE: Final = (
    "was killed by SIGKILL",
    "could not be started: ssh: connect to host pi-worker-1 port 22: No route to host",
    "内存不足，进程被终止",
    "perdió la conexión… 🙂 \u00a0(über 3 GiB)",
)
hostile = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
_BAD: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")


def wrong(text: str, allowed: str = "") -> list[str]:
    return [each for each in text if unicodedata.category(each) in _BAD and each not in allowed]


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(each)


def told(cluster: Cluster) -> list[str]:
    """All that people are told of the job."""
    status = texts(msgspec.to_builtins(cluster.status))
    events = (part for event in cluster.events for part in (event.reason, event.message))
    return [*status, *events]


def check(cluster: Cluster, allowed: str = "") -> None:
    seen = told(cluster)
    assert seen
    for text in seen:
        assert wrong(text, allowed) == []
        assert len(text) <= 1200, text
        text.encode()


def report(cluster: Cluster, text: str) -> None:
    pod = cluster.launcher()
    cluster.change(pod.name, annotations={**pod.annotations, progress.ANNOTATION: text})
    cluster.reconcile()


def said(cluster: Cluster, **words: Any) -> str:
    return json.dumps({"at": cluster.now.isoformat(), "size": 1, "training_hosts": 1, **words})


@pytest.fixture
def cluster() -> Cluster:
    return running(elastic(2))


@pytest.mark.parametrize("what", ["began", "lost", "joined", "left"])
@hostile
def test_changes_of_who_trains(cluster: Cluster, text: str, what: str) -> None:
    change = {"number": 1, "what": what, "hosts": [text] * 20, "count": 20, "size": 1, "why": text}
    report(cluster, said(cluster, changes=[change], loss=text, step=text, hosts=[text]))
    assert any(event.reason in ("TrainingStarted", "RankLost", "RankJoined", "RankLeft") for event in cluster.events)
    check(cluster)


@hostile
def test_hosts_that_do_not_train(cluster: Cluster, text: str) -> None:
    report(cluster, said(cluster, idle=[{"host": text, "why": text}] * 12))
    assert cluster.status.explanation.startswith("1 of 2 workers trains; ")
    check(cluster)


@pytest.mark.parametrize("text", LEGITIMATE)
def test_what_people_write_stays_as_it_is(cluster: Cluster, text: str) -> None:
    change = {"number": 1, "what": "lost", "hosts": ["pi-worker-1"], "size": 1, "rank": 1, "why": text}
    report(cluster, said(cluster, changes=[change], idle=[{"host": "pi-worker-1", "why": text}]))
    assert f"Rank 1 on pi-worker-1 {text}; 1 rank continues training." in [event.message for event in cluster.events]
    assert cluster.status.explanation == f"1 of 2 workers trains; pi-worker-1 {text}."
    assert quoting.line(text) == quoting.lines(text) == text


@pytest.mark.parametrize("number", ["9" * 4000, "-1", "1e999", "NaN", "Infinity", "-Infinity", "1.5", "true"])
def test_numbers_that_count_nothing(cluster: Cluster, number: str) -> None:
    change = '{"number":1,"what":"joined","hosts":["a"],"size":1}'
    odd = f'{{"number":2,"what":"joined","hosts":["a"],"rank":{number},"count":{number},"size":{number}}}'
    start = f'{{"at":"{cluster.now.isoformat()}","changes":[{change},{odd}],'
    report(cluster, f'{start}"size":{number},"step":{number},"loss":{number},"training_hosts":{number}}}')
    check(cluster)
    found = cluster.status.progress
    assert found is None or found.step in (None, -1, 1)
    assert not any(len(event.message) > 100 for event in cluster.events if event.reason.startswith("Rank"))


@pytest.mark.parametrize(
    "moment",
    [
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "2030-01-01T00:00:00",
        "1e400",
    ],
)
def test_moments_that_no_clock_shows(cluster: Cluster, moment: str) -> None:
    log = '{"springtide":"progress","at":"2030-01-01T00:00:00Z"}'
    progress.last({progress.ANNOTATION: json.dumps({"at": moment})}, log)
    progress.last({progress.ANNOTATION: log}, f'{{"springtide":"progress","at":"{moment}"}}')
    report(cluster, json.dumps({"at": moment, "size": 1, "hosts": ["pi-worker-0"]}))
    cluster.resize(1)
    cluster.reconcile()
    report(cluster, said(cluster, idle=[{"host": "pi-worker-1", "why": "rests", "until": moment}]))
    check(cluster)


def calls(work: Callable[[], object]) -> int:
    """Function calls, which do not depend on how busy the machine is. A garbage collection would add those of its
    callbacks."""
    counted = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    gc.disable()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return counted


def test_a_hundred_thousand_changes_cost_little_and_the_newest_are_told(cluster: Cluster) -> None:
    many = [{"number": number, "what": "left", "hosts": ["a"], "size": 1} for number in range(1, 100_001)]
    assert progress.read(said(cluster, changes=many)) == progress.read("")
    few, some = said(cluster, changes=many[-100:]), said(cluster, changes=many[-4000:])
    found = progress.read(some).membership
    assert calls(lambda: progress.read(some)) <= 1.5 * calls(lambda: progress.read(few))
    assert [each.number for each in found] == list(range(99_991, 100_001))


@pytest.mark.parametrize("nested", ["[" * 100_000, '{"changes":' * 5000, '{"changes":[' + "[" * 900])
def test_nesting(cluster: Cluster, nested: str) -> None:
    report(cluster, nested)
    check(cluster)


# What kubelets, schedulers and events say


def a_pod(**status: Any) -> Any:
    spec = {"nodeName": "a" if "containerStatuses" in status else "", "containers": [{"name": "main"}]}
    return observing.pod(pod_view(made(PODS, "p", spec=spec, status=status)))


def an_end(text: str) -> dict[str, Any]:
    return {"exitCode": 1, "reason": text, "message": text}


@hostile
def test_how_a_launcher_ended(cluster: Cluster, text: str) -> None:
    cluster.policy(backoffLimit=0)
    status = {"name": "main", "state": {"terminated": an_end(text)}}
    ended = a_pod(phase="Failed", reason=text, message=text, containerStatuses=[status])
    cluster.change("pi-launcher", phase="Failed", reason=ended.reason, message=ended.message, exit=ended.exit)
    cluster.reconcile()
    assert cluster.finished
    check(cluster, allowed="\n")


@pytest.mark.parametrize("reason", ["CrashLoopBackOff", "ErrImagePull", "CreateContainerError", "\x1b[2J" * 900])
@hostile
def test_why_a_worker_does_not_start(text: str, reason: str) -> None:
    cluster = elastic(2)
    cluster.reconcile()
    last, waits = {"terminated": an_end(text)}, {"waiting": {"reason": reason, "message": text}}
    stuck = a_pod(phase="Pending", containerStatuses=[{"name": "main", "state": waits, "lastState": last}])
    cluster.change("pi-worker-0", node="a", waiting=stuck.waiting)
    cluster.reconcile()
    assert cluster.status.explanation
    check(cluster, allowed="\n")


@hostile
def test_what_schedulers_and_servers_say(text: str) -> None:
    unplaced = {"type": "PodScheduled", "status": "False", "reason": text, "message": text}
    waits = a_pod(phase="Pending", conditions=[unplaced]).waiting
    assert isinstance(waits, Waiting)
    trouble = newest([EventView(text, text)])
    assert trouble is not None
    refused = wait_causes.refused("ns", "A worker pod", text, "kubectl describe pod p")
    for each in (waits.reason, waits.message, trouble.reason, trouble.message, refused.sentence):
        assert wrong(each) == []
        assert len(each) <= quoting.DETAILS
    assert len(refused.sentence) <= quoting.MESSAGE


def test_the_last_lines_of_a_log_stay_lines() -> None:
    text = 'Traceback (most recent call last):\n\tFile "a.py"\nValueError: \x1b[31mno\x1b[0m\r\n'
    found = a_pod(phase="Failed", containerStatuses=[{"name": "main", "state": {"terminated": an_end(text)}}])
    assert found.exit.message == text.replace("\x1b", " ")
    assert causes.exited(found.exit).count("\n") == 2


def test_every_character_that_is_none_is_known() -> None:
    for point in range(sys.maxunicode + 1):
        letter = chr(point)
        bad = unicodedata.category(letter) in _BAD
        if bad or unicodedata.category(letter) != "Cn":
            assert (quoting.line(letter) != letter) == bad, f"U+{point:04X}"
