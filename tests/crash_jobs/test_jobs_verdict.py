# SPDX-License-Identifier: Apache-2.0
"""The judge is judged: it lets pass what is right, and sees each fault."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.crash_jobs import mix, schedule
from tests.crash_jobs.history import Line, Seen
from tests.crash_jobs.jobs import Wanted
from tests.crash_jobs.verdict import Blows, judge, judge_accounts, judge_statuses, lacking, unfinished

from springtide.kube.resources import Obj

JOB = "u-job"


def wanted(retries: int = 6, clean: str = "Running") -> Wanted:
    return Wanted("grows", "v1", True, 2, clean, retries, {})


def _meta(name: str, uid: str, **more: Any) -> Obj:
    return {"name": name, "uid": uid, "labels": {"springtide.dev/job": "grows"}, **more}


def a_job(*conditions: str, suspend: bool = False, **status: Any) -> Obj:
    told = [{"type": each, "status": "True", "message": f"it is {each}"} for each in conditions]
    return {
        "metadata": _meta("grows", JOB),
        "spec": {"runPolicy": {"suspend": suspend}},
        "status": {"conditions": told, **status},
    }


def a_pod(name: str, uid: str, role: str = "Worker", phase: str = "Running", ready: bool = True, **more: Any) -> Obj:
    metadata = _meta(name, uid, ownerReferences=[{"uid": JOB}], **more)
    metadata["labels"] |= {"springtide.dev/role": role}
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {"metadata": metadata, "spec": {"nodeName": "one"}, "status": {"phase": phase, "conditions": conditions}}


def a_config(*hosts: str, serves: str = "u-launcher", said: str = "") -> Obj:
    log = json.dumps([{"reason": "WorkerReplaced", "message": said}] if said else [])
    annotations = {"springtide.dev/ledger": json.dumps({"serves": serves}), "springtide.dev/decisions": log}
    script = "\n".join(["#!/bin/sh", *(f"echo {host}:1" for host in hosts)])
    metadata = _meta("grows-config", "u-config", ownerReferences=[{"uid": JOB}], annotations=annotations)
    return {"metadata": metadata, "data": {"discover_hosts.sh": script}}


def a_role(*names: str) -> Obj:
    rule = {"resources": ["pods/exec"], "resourceNames": list(names)}
    return {"metadata": _meta("grows-launcher", "u-role", ownerReferences=[{"uid": JOB}]), "rules": [rule]}


KINDS = {"u-job": "MPIJob", "u-config": "ConfigMap", "u-role": "Role"}


def told(*objects: Obj) -> list[Seen]:
    return [Seen(n, KINDS.get(obj["metadata"]["uid"], "Pod"), obj) for n, obj in enumerate(objects)]


W0, W1 = a_pod("w-0", "u0"), a_pod("w-1", "u1")
LEAVING: dict[str, Any] = {"deletionTimestamp": "now"}
START = (a_job("Created", "Running"), W0, W1, a_role("w-0", "w-1"), a_config("w-0", "w-1"))
ENDED = a_job("Created", "Succeeded", completionTime="now")


def test_a_job_that_was_left_alone_is_not_complained_about() -> None:
    seen = told(*START, ENDED, a_pod("w-0", "u0", **LEAVING))
    assert judge(wanted(), seen, [], Blows()) == []


def test_a_shrink_in_order_is_right() -> None:
    seen = told(*START, a_config("w-0"), a_role("w-0"), a_pod("w-1", "u1", **LEAVING), ENDED)
    assert judge(wanted(), seen, [], Blows()) == []


def test_a_replacement_that_is_explained_is_right() -> None:
    dead, other = a_pod("w-0", "u0", phase="Failed"), a_pod("w-2", "u2")
    after = (other, a_role("w-1", "w-2"), a_config("w-1", "w-2", said="w-0 exited with code 137"), ENDED)
    assert judge(wanted(), told(*START, dead, a_config("w-1"), *after), [], Blows(pods={"u0"})) == []


@pytest.mark.parametrize(
    "then",
    [
        pytest.param([a_config("w-0", "w-2")], id="listed without a pod"),
        pytest.param([a_pod("w-2", "u2", ready=False), a_role("w-0", "w-1", "w-2"), a_config("w-2")], id="not ready"),
        pytest.param([a_pod("w-2", "u2"), a_config("w-2")], id="listed before the Role allows it"),
        pytest.param([a_role("w-0")], id="the Role forbids who is listed"),
        pytest.param([a_role("w-0", "w-1", "w-2")], id="the Role names whose pod nobody has seen"),
        pytest.param([a_config("w-0"), a_pod("w-1", "u1", **LEAVING)], id="deleted while the Role named it"),
        pytest.param([a_pod("w-1", "u1", **LEAVING)], id="deleted while it was listed"),
        pytest.param([a_config("w-0"), a_pod("w-1", "u9"), a_config("w-0", "w-1")], id="a name used twice"),
        pytest.param([a_config("w-0", "w-0")], id="listed twice"),
        pytest.param([a_job("Created", "Failed", completionTime="now")], id="failed without a cause"),
    ],
)
def test_a_write_in_the_wrong_order_is_seen(then: list[Obj]) -> None:
    assert judge(wanted(), told(*START, *then), [], Blows())


def test_too_many_hosts_are_seen() -> None:
    names = [f"w-{n}" for n in range(5)]
    pods = [a_pod(name, f"u-{name}") for name in names]
    assert judge(wanted(), told(a_job("Created"), *pods, a_role(*names), a_config(*names)), [], Blows())


def test_a_replacement_without_a_reason_is_seen() -> None:
    seen = told(*START, a_pod("w-0", "u0", phase="Failed"), a_config("w-1"), ENDED)
    assert judge(wanted(), seen, [], Blows(pods={"u0"})) == ["nothing was said of why w-0 was replaced"]


def test_a_launcher_without_another_try_fails_its_job_and_no_other_does() -> None:
    dead = a_pod("grows-launcher", "u-launcher", "Launcher", "Failed")
    failed = a_job("Created", "Failed", completionTime="now")
    failed["status"]["conditions"][1]["message"] = "launcher exited with code 137"
    blows = Blows(pods={"u-launcher"})
    assert judge(wanted(retries=0), told(*START, dead, failed), [], blows) == []
    assert judge(wanted(retries=0), told(*START, dead, ENDED), [], blows)
    assert judge(wanted(retries=6), told(*START, dead, failed), [], blows)
    assert judge(wanted(retries=0), told(*START, failed), [], blows)


@pytest.mark.parametrize(
    "states",
    [
        pytest.param([a_job("Running")], id="without Created"),
        pytest.param([a_job("Created", "Running", "Restarting")], id="running and restarting"),
        pytest.param([a_job("Created", "Running", "Suspended")], id="running and suspended"),
        pytest.param([ENDED, a_job("Created", "Running")], id="running after the end"),
        pytest.param([a_job("Created", "Succeeded", "Failed", completionTime="now")], id="both endings"),
        pytest.param([a_job("Created", "Succeeded")], id="no time"),
    ],
)
def test_a_status_that_cannot_be_is_seen(states: list[Obj]) -> None:
    assert list(judge_statuses(states))


def test_no_job_fails_because_its_cluster_was_stopped() -> None:
    stopped = a_pod("grows-launcher", "u-launcher", "Launcher", "Failed")
    stopped["status"]["reason"] = "Terminated"
    failed = a_job("Created", "Failed", completionTime="now")
    blows = Blows(pods={"u-launcher"}, stopped={"u-launcher"})
    assert judge(wanted(retries=0), told(*START, stopped, ENDED), [], blows) == []
    assert judge(wanted(retries=0), told(*START, stopped, failed), [], blows)
    lost = Line("grows", "u-launcher", {"at": 5.0, "lost": "w-0", "why": "forbidden", "listed": True})
    assert not list(judge_accounts(told(*START), [lost], Blows(stopped={"u0"})))


def test_what_launchers_say_of_their_hosts() -> None:
    seen = told(*START, a_pod("grows-launcher", "u-launcher", "Launcher"))
    lost = Line("grows", "u-launcher", {"at": 5.0, "lost": "w-0", "why": "forbidden", "listed": True})
    beside = Line("grows", "u-launcher", {"at": 5.0, "beside": "w-0", "ranks": ["rank-other"]})
    left = Line("grows", "u-launcher", {"at": 5.0, "lost": "w-0", "why": "gone", "listed": False})
    assert list(judge_accounts(seen, [lost], Blows()))
    assert list(judge_accounts(seen, [beside], Blows()))
    assert not list(judge_accounts(seen, [left], Blows()))
    assert not list(judge_accounts(seen, [lost], Blows(pods={"u0"})))
    assert not list(judge_accounts(seen, [lost], Blows(nodes={"one"})))
    assert not list(judge_accounts(seen, [lost], Blows(deleted={JOB: 4.0})))
    assert list(judge_accounts(seen, [lost], Blows(deleted={JOB: 6.0})))


def test_what_is_waited_for() -> None:
    launcher = a_pod("grows-launcher", "u-launcher", "Launcher")
    runs = a_job("Created", "Running", state="Running", workers="2/2")
    assert not list(lacking(runs, [launcher, W0, W1], a_config("w-0", "w-1"), 2))
    assert not list(lacking(runs, [launcher], None, None))
    assert list(lacking(runs, [W0, W1], a_config("w-0", "w-1"), 2))
    assert list(lacking(runs, [launcher, W0, W1], a_config("w-0"), 2))
    assert list(lacking(runs, [launcher, W0, W1], a_config("w-0", "w-1"), 3))
    assert not list(lacking(a_job("Created", "Suspended", suspend=True), [], None, 2))
    assert list(lacking(a_job("Created", "Suspended", suspend=True), [W0], None, 2))
    assert not list(unfinished(wanted(), ENDED, [a_pod("w-0", "u0", phase="Succeeded")]))
    assert list(unfinished(wanted(), ENDED, [W0]))
    assert list(unfinished(wanted(clean="All"), ENDED, [a_pod("w-0", "u0", phase="Succeeded")]))
    assert list(unfinished(wanted(), a_job("Created", "Running"), []))


def test_workers_of_a_launcher_that_is_not_elastic_are_waited_for_as_they_are_used() -> None:
    launcher, config = a_pod("grows-launcher", "u-launcher", "Launcher"), a_config("w-0", "w-1")
    ledger = {"serves": "u-launcher", "members": [0, 1], "started_with": [0, 1]}
    config["metadata"]["annotations"]["springtide.dev/ledger"] = json.dumps(ledger)
    keeps = a_job("Created", "Running", "SizeDeferred", state="Running", workers="2/1")
    assert not list(lacking(keeps, [launcher, W0, W1], config, 1))
    assert list(lacking(keeps, [launcher, W0], config, 1))
    pretends = a_job("Created", "Running", state="Running", workers="1/1")
    assert list(lacking(pretends, [launcher, W0, W1], config, 1))


def test_a_seed_always_gives_the_same_schedule() -> None:
    def drawn(seed: int) -> tuple[list[Wanted], list[schedule.Act]]:
        chance = random.Random(seed)
        found = mix.drawn(chance, Path("/shared"))
        return found, schedule.drawn(chance, [each.name for each in found])

    assert drawn(7) == drawn(7)
    assert drawn(7) != drawn(8)
    for seed in range(50):
        acts = [act.what for act in drawn(seed)[1]]
        assert acts.count("operator") <= schedule.MOST_KILLS
        assert all(acts.count(what) <= 1 for what in schedule.ONCE)
        named = [each.named for each in drawn(seed)[0]]
        assert len(named) == mix.JOBS
        assert 1 <= sum(named) < mix.JOBS
