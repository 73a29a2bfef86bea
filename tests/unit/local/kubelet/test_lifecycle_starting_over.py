# SPDX-License-Identifier: Apache-2.0
"""Pods in which the end of one container makes all of them begin again (restart rules, `RestartAllContainers`)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.local.kubelet.builders import NOW, UID, a_container, a_pod, ended, runs, states
from tests.unit.local.kubelet.fakes import Stage

from springtide.kube.resources import Obj
from springtide.local.kubelet.pods.actions import BeginStop, EndSandbox, SignalStop, StartContainer, StartOver
from springtide.local.kubelet.pods.lifecycle import plan
from springtide.local.kubelet.pods.local_pods import Record
from springtide.local.kubelet.pods.observed import Observed, Stop
from springtide.local.kubelet.status.pod_status import Place, derive

UP = Observed(sandbox=True, phase="Running")


def a_pod_with_a_rule() -> Obj:
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    watcher = a_container("watcher", restartPolicy="Never", restartPolicyRules=[rule])
    return a_pod(a_container("worker"), watcher, init=(a_container("one"),), restartPolicy="Never")


def test_the_others_are_killed_without_grace() -> None:
    seen = replace(UP, states=states(ended("one"), runs("worker"), ended("watcher", 42)))
    assert plan(a_pod_with_a_rule(), seen, NOW) == (BeginStop("worker", 0, 0.0, "killing"),)
    seen = replace(seen, stops={"worker": Stop(0, NOW, 0.0)})
    assert plan(a_pod_with_a_rule(), seen, NOW) == (SignalStop("worker", 2.0),)


def test_then_everything_begins_again() -> None:
    pod = a_pod_with_a_rule()
    over = states(ended("one"), ended("worker", 137), ended("watcher", 42))
    assert plan(pod, replace(UP, states=over), NOW) == (StartOver(),)
    seen = replace(UP, states=over, reset={"one": 0, "worker": 0, "watcher": 0})
    assert plan(pod, seen, NOW) == (StartContainer("one", 1),)
    seen = replace(seen, states=over | states(ended("one", attempt=1)))
    assert plan(pod, seen, NOW) == (StartContainer("worker", 1), StartContainer("watcher", 1))


def test_another_exit_code_is_an_ordinary_end() -> None:
    seen = replace(UP, states=states(ended("one"), ended("worker", 1), ended("watcher", 1)))
    assert plan(a_pod_with_a_rule(), seen, NOW) == (EndSandbox(),)


def test_the_pod_does_not_fail_meanwhile_and_says_what_happens() -> None:
    pod = a_pod_with_a_rule()
    over = states(ended("one"), ended("worker", 137), ended("watcher", 42))
    old = {"phase": "Running"}
    status = derive(pod, replace(UP, states=over), old, Place("127.0.0.1", ""), NOW)
    assert status["phase"] == "Running"
    restarting = status["conditions"][-1]
    assert (restarting["type"], restarting["status"]) == ("AllContainersRestarting", "True")
    assert restarting["reason"] == "RestartAllContainersStarted"
    seen = replace(UP, states=over, reset={"one": 0, "worker": 0, "watcher": 0})
    status = derive(pod, seen, status, Place("127.0.0.1", ""), NOW)
    assert status["phase"] == "Running"
    assert status["conditions"][-1]["status"] == "False"
    assert status["containerStatuses"][0]["state"]["waiting"]["reason"] == "RestartingAllContainers"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    made = Stage(tmp_path)
    yield made
    await made.sync.stop()


async def test_it_happens_in_the_same_sandbox_and_is_remembered(stage: Stage) -> None:
    stage.put(a_pod_with_a_rule())
    await stage.settle()
    stage.shim.exit("one", 0)
    await stage.settle()
    stage.shim.exit("watcher", 42)
    await stage.settle()
    stage.shim.exit("worker", 137)
    await stage.settle()
    stage.shim.exit("one", 0)
    await stage.settle()
    assert len(stage.runtime.shims) == 1
    assert stage.shim.started == [("one", 0), ("worker", 0), ("watcher", 0), ("one", 1), ("worker", 1), ("watcher", 1)]
    assert stage.status()["phase"] == "Running"
    record = Record.read(stage.facts.pod_directory(UID))
    assert record is not None
    assert record.reset == {"one": 0, "worker": 0, "watcher": 0}
