# SPDX-License-Identifier: Apache-2.0
"""The judge of jobs whose replicas keep their names is judged: it lets pass what is right, and sees each fault."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.crash_jobs import named_jobs
from tests.crash_jobs.history import Line, Seen
from tests.crash_jobs.jobs import Wanted
from tests.crash_jobs.named_verdict import judge, lacking, unmet
from tests.crash_jobs.verdict import Blows

from springtide.kube.resources import Obj

JOB = "u-job"
KINDS = {JOB: "PyTorchJob", "u-ledger": "ConfigMap"}
RIGID = replace(named_jobs.rigid(random.Random(1), Path("/shared")), retries=6, clean="Running")
WHOLE = replace(RIGID, whole=True)
ELASTIC = named_jobs.elastic(random.Random(1), Path("/shared"))


def _meta(name: str, uid: str, **more: Any) -> Obj:
    return {"name": name, "uid": uid, "labels": {"springtide.dev/job": "ddp"}, **more}


def a_job(*conditions: str, **status: Any) -> Obj:
    told = [{"type": each, "status": "True", "message": f"it is {each}"} for each in conditions]
    return {"metadata": _meta("ddp", JOB), "spec": {}, "status": {"conditions": told, **status}}


def a_pod(role: str, index: int, uid: str, phase: str = "Running", rank: int | None = None, **more: Any) -> Obj:
    metadata = _meta(f"ddp-{role.lower()}-{index}", uid, ownerReferences=[{"uid": JOB}], **more)
    metadata["labels"] |= {"springtide.dev/role": role, "springtide.dev/index": str(index)}
    metadata["labels"]["training.kubeflow.org/replica-index"] = str(index)
    told = str(rank if rank is not None else index + (role == "Worker"))
    containers = [{"name": "pytorch", "env": [{"name": "RANK", "value": told}]}]
    ready = [{"type": "Ready", "status": str(phase == "Running")}]
    return {
        "metadata": metadata,
        "spec": {"nodeName": "one", "containers": containers},
        "status": {"phase": phase, "conditions": ready},
    }


def a_ledger(workers: int = 1, **fields: Any) -> Obj:
    kept = {"sizes": {"Master": 1, "Worker": workers}, **fields}
    annotations = {"springtide.dev/ledger": json.dumps(kept)}
    return {
        "metadata": _meta("ddp-pytorchjob-ledger", "u-ledger", ownerReferences=[{"uid": JOB}], annotations=annotations)
    }


def told(*objects: Obj) -> list[Seen]:
    return [
        Seen(n, KINDS.get(obj["metadata"]["uid"], "Pod"), obj, "gone" in obj["metadata"])
        for n, obj in enumerate(objects)
    ]


MASTER, WORKER = a_pod("Master", 0, "u0"), a_pod("Worker", 0, "u1")
GONE = a_pod("Worker", 0, "u1", deletionTimestamp="now", gone=True)
AGAIN = a_pod("Worker", 0, "u2")
START = (a_job("Created", "Running"), a_ledger(), MASTER, WORKER)
ENDED = a_job("Created", "Succeeded", completionTime="now")


@pytest.mark.parametrize(
    ("wanted", "then"),
    [
        pytest.param(RIGID, [], id="left alone"),
        pytest.param(RIGID, [GONE, AGAIN], id="created again"),
        pytest.param(RIGID, [a_ledger(done=["ddp-worker-0"]), GONE], id="deleted after it has succeeded"),
        pytest.param(
            WHOLE,
            [
                a_ledger(retried=["u0", "u1"]),
                GONE,
                a_pod("Master", 0, "u0", gone=True),
                AGAIN,
            ],
            id="restarted as a whole",
        ),
        pytest.param(RIGID, [a_ledger(2), a_pod("Worker", 1, "u3")], id="grown"),
    ],
)
def test_what_is_right_is_not_complained_about(wanted: Wanted, then: list[Obj]) -> None:
    assert judge(wanted, told(*START, *then, ENDED), [], Blows()) == []


@pytest.mark.parametrize(
    ("wanted", "then"),
    [
        pytest.param(RIGID, [a_ledger(done=["ddp-worker-0"]), GONE, AGAIN], id="run again after it has succeeded"),
        pytest.param(RIGID, [a_pod("Worker", 1, "u3")], id="beyond the size"),
        pytest.param(RIGID, [GONE, a_pod("Worker", 0, "u2", rank=7)], id="the rank of another"),
        pytest.param(WHOLE, [a_ledger(complete=True), GONE, AGAIN], id="alone, of a whole job"),
        pytest.param(WHOLE, [a_ledger(retried=["u0", "u1"]), GONE, AGAIN], id="beside one of the run before"),
        pytest.param(RIGID, [a_job("Created", "Failed", completionTime="now")], id="failed without a cause"),
        pytest.param(RIGID, [a_job("Created", "Succeeded", "Failed", completionTime="now")], id="both endings"),
    ],
)
def test_a_fault_is_seen(wanted: Wanted, then: list[Obj]) -> None:
    assert judge(wanted, told(*START, *then), [], Blows())


def test_programs_are_told_who_they_are() -> None:
    def says(host: str = "ddp-worker-0", size: str = "2", uid: str = "u1") -> Line:
        return Line("ddp", uid, {"at": 1.0, "start": host, "told": {"WORLD_SIZE": size}})

    seen = told(*START, ENDED)
    assert judge(RIGID, seen, [says(), says("ddp-master-0", uid="u0")], Blows()) == []
    assert judge(RIGID, seen, [says("another")], Blows())
    assert judge(RIGID, seen, [says(), says("ddp-master-0", "3", "u0")], Blows())
    assert judge(RIGID, seen, [says(), says("ddp-master-0", "3", "u0")], Blows(suspended={JOB})) == []
    assert judge(ELASTIC, seen, [says()], Blows()), "it was not told of its bounds"


def _service(name: str) -> Obj:
    return {"metadata": {"name": name}}


def test_what_is_waited_for() -> None:
    runs = a_job("Created", "Running", state="Running", workers="1/1")
    services = [_service("ddp-master-0"), _service("ddp-worker-0")]
    pods = [MASTER, WORKER]

    def lacks(job: Obj = runs, made: list[Obj] = pods, ledger: Obj | None = None, size: int | None = 1) -> list[str]:
        return list(lacking(RIGID, job, made, services, ledger or a_ledger(), size))

    assert lacks() == []
    assert lacks(made=[MASTER])
    assert lacks(made=[MASTER, a_pod("Worker", 0, "u1", "Pending")])
    assert lacks(made=[MASTER, WORKER, a_pod("Worker", 1, "u3")])
    assert lacks(made=[MASTER], ledger=a_ledger(done=["ddp-worker-0"])) == []
    assert lacks(size=2), "a size that is put off, and nothing is said of it"
    assert lacks(a_job("Created", "Running", "SizeDeferred", state="Running", workers="1/1"), size=2) == []
    assert lacks(a_job("Created", state="Starting"), size=None)
    assert list(lacking(RIGID, runs, pods, [*services, _service("ddp-worker-1")], a_ledger(), 1))


def test_replicas_that_do_not_reach_the_first_one_are_waited_for() -> None:
    def meets(uid: str, name: str) -> Line:
        return Line("ddp", uid, {"at": 1.0, "meets": name})

    both = [meets("u0", "ddp-master-0"), meets("u1", ""), meets("u1", "ddp-master-0")]
    assert list(unmet(RIGID, [MASTER, WORKER], both)) == []
    assert list(unmet(RIGID, [MASTER, WORKER], both[:2]))
    assert list(unmet(RIGID, [MASTER, WORKER], both[:1]))
