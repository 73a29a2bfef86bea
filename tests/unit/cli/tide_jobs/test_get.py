# SPDX-License-Identifier: Apache-2.0
"""`tide get`, once, again and again, and live."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import Result
from tests.unit.cli import fake_cluster
from tests.unit.cli.fake_cluster import FakeCluster
from tests.unit.views.builders import a_job, a_pod, a_role, stamp

from springtide.cli.tide_jobs import get as module
from springtide.cli.tide_jobs.output import live, watching

ENDED: dict[str, Any] = {"state": "Succeeded", "workers": "0/2", "completionTime": stamp(65), "startTime": stamp(2)}


@pytest.fixture
def tide(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(cluster: FakeCluster, *args: str) -> Result:
        return fake_cluster.run(cluster, module.get, *args, monkeypatch=monkeypatch)

    return run


def a_cluster(**status: Any) -> FakeCluster:
    job = a_job(**(ENDED | status))
    return FakeCluster(job, a_pod(job, "launcher"), a_pod(job, "worker", 0, gpus=1))


def test_a_job_is_shown_with_its_instances(tide: Any) -> None:
    found = tide(a_cluster(explanation="All went well.", progress={"step": 40, "loss": "0.25", "ranks": 2}), "bert")
    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    assert lines[:9] == [
        "Name:        bert",
        "Namespace:   default",
        "State:       Succeeded",
        "             All went well.",
        "Trainer:     etjob",
        "Workers:     0/2",
        "GPUs:        1 of 2",
        "Priority:    -",
        "Progress:    step 40, loss 0.25, 2 ranks",
    ]
    assert lines[-3].split() == ["INSTANCE", "STATUS", "READY", "RESTARTS", "AGE", "GPUS", "NODE"]
    assert [line.split()[0] for line in lines[-2:]] == ["bert-launcher", "bert-worker-0"]


def test_the_explanation_is_in_the_users_language_and_json_is_not(tide: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    cluster = a_cluster(explanation="The job is suspended and has no pods.")
    lines = tide(cluster, "bert").stdout.splitlines()
    assert not lines[3].isascii()
    assert lines[2] == "State:       Succeeded"
    assert json.loads(tide(cluster, "bert", "-o", "json").stdout)["explanation"].isascii()


def test_one_request_a_kind_one_for_pods_and_one_for_tensorboard(tide: Any) -> None:
    cluster = a_cluster()
    tide(cluster, "bert", "-T", "et")
    assert len(cluster.requests) == 3


def test_tensorboard_is_named_where_there_is_one(tide: Any) -> None:
    cluster = a_cluster()
    service = {"kind": "Service", "metadata": {"name": "bert-tensorboard", "namespace": "default"}}
    cluster.set({**service, "spec": {"ports": [{"nodePort": 30001}]}})
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}]
    cluster.set({"kind": "Node", "metadata": {"name": "a"}, "status": {**ready, "addresses": addresses}})
    assert "TensorBoard: http://10.0.0.1:30001" in tide(cluster, "bert").stdout


def test_events_are_shown_on_request(tide: Any) -> None:
    cluster = a_cluster()
    about = {"uid": "uid-bert", "kind": "TrainingJob", "name": "bert"}
    event = {"kind": "Event", "metadata": {"name": "e", "namespace": "default"}, "involvedObject": about}
    cluster.set({**event, "type": "Normal", "reason": "Created", "message": "It is created.", "count": 3})
    assert tide(cluster, "bert", "-e").stdout.splitlines()[-1].split("  ")[1:] == [
        "Normal",
        "Created",
        "trainingjob/bert",
        "It is created.",
    ]
    assert tide(a_cluster(), "bert", "-e").stderr == "There are no events: they are kept for an hour.\n"


def test_gpus_are_shown_by_node_on_request(tide: Any) -> None:
    lines = tide(a_cluster(), "bert", "-g").stdout.splitlines()
    assert [line.split() for line in lines[-2:]] == [
        ["NODE", "NODE", "IP", "GPUS", "INSTANCES"],
        ["node-a", "ip-of-node-a", "1", "bert-worker-0"],
    ]


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("name", "trainingjob.kai.alibabacloud.com/bert\n"),
        ("jsonpath={.instances[*].name}", "bert-launcher bert-worker-0\n"),
        (".state", None),
        ("custom-columns=NAME:.name,STATE:.state", "NAME  STATE\nbert  Succeeded\n"),
    ],
)
def test_values_are_chosen(tide: Any, output: str, shown: str | None) -> None:
    found = tide(a_cluster(), "bert", "-o", output)
    assert (found.exit_code, found.stdout) == ((0, shown) if shown is not None else (2, ""))


def test_json_has_arenas_word_and_ours(tide: Any) -> None:
    shown = json.loads(tide(a_cluster(), "bert", "-o", "json").stdout)
    assert (shown["status"], shown["state"], shown["chiefName"]) == ("SUCCEEDED", "Succeeded", "bert-launcher")


def test_an_unknown_job_is_not_found_and_a_similar_one_named(tide: Any) -> None:
    found = tide(a_cluster(), "bart")
    assert found.exit_code == 5
    assert found.stderr == "error: There is no job bart in namespace default.\nhint: did you mean bert?\n"


def test_of_two_jobs_of_one_name_a_type_is_asked_for(tide: Any) -> None:
    cluster = FakeCluster(a_job(**ENDED), a_job("MPIJob", **ENDED))
    found = tide(cluster, "bert")
    assert found.exit_code == 2
    assert "choose one with: --type " in found.stderr
    assert tide(cluster, "bert", "-T", "mpi", "-o", "name").stdout == "mpijob.kubeflow.org/bert\n"


@pytest.mark.parametrize("option", ["-w", "--live"])
def test_watching_shows_the_page_only(tide: Any, option: str) -> None:
    assert tide(a_cluster(), "bert", option, "-o", "json").exit_code == 2


def test_watching_prints_a_line_for_each_change_until_the_job_has_ended(
    tide: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_PAUSE", 0.0)
    job = a_job(state="Running", workers="2/2", explanation="The job runs with 2 workers.")
    cluster = FakeCluster(job)
    ended = a_job(**ENDED, explanation="Well done.")
    ended["metadata"]["resourceVersion"] = "2"
    cluster.changes = [("MODIFIED", ended)]
    found = tide(cluster, "bert", "-w")
    assert (found.exit_code, found.stdout.splitlines()) == (
        0,
        ["Running  workers 2/2  The job runs with 2 workers.", "Succeeded  workers 0/2  Well done."],
    )


def test_watching_ends_when_the_job_is_deleted(tide: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_PAUSE", 0.0)
    job = a_job(state="Running", workers="2/2")
    cluster = FakeCluster(job)
    gone = a_job()
    gone["metadata"]["resourceVersion"] = "2"
    cluster.changes = [("DELETED", gone)]
    found = tide(cluster, "bert", "-w")
    assert (found.exit_code, found.stderr) == (0, "Job bert was deleted.\n")


def report(step: int, loss: float, ranks: int = 2) -> str:
    return json.dumps(
        {"springtide": "progress", "at": stamp(step), "size": ranks, "step": step, "loss": loss}, separators=(",", ":")
    )


def test_live_begins_with_what_the_log_says_and_goes_on_with_new_reports(
    tide: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_EVERY", 0.0)
    status: dict[str, Any] = {"state": "Running", "workers": "2/2", "minReplicas": 1, "maxReplicas": 4}
    job = a_job("MPIJob", {"Launcher": a_role(), "Worker": a_role(2)}, **status)
    launcher = a_pod(job, "launcher")
    cluster = FakeCluster(job, launcher)
    cluster.logs["bert-launcher"] = "\n".join(["starting", report(10, 2.0), "[0]<stdout>:hello", report(20, 1.0)])
    reads = 0

    def after_list() -> None:
        nonlocal reads
        reads += 1
        if reads == 2:
            launcher["metadata"]["annotations"] = {"springtide.dev/progress": report(40, 0.5, ranks=3)}
        if reads == 3:
            job["status"] = {**status, "state": "Succeeded"}

    cluster.after_list = after_list
    found = tide(cluster, "bert", "--live")
    assert (found.exit_code, found.stdout.splitlines()) == (
        0,
        [
            "Running  workers 2/2 (1-4)  step 20  loss 1  ranks 2  1 steps/s",
            "Running  workers 2/2 (1-4)  step 40  loss 0.5  ranks 3  1 steps/s",
            "Succeeded  workers 2/2 (1-4)  step 40  loss 0.5  ranks 3  1 steps/s",
        ],
    )
    assert sum("/log" in each for each in cluster.requests) == 1


def test_live_ends_when_the_job_is_deleted(tide: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_EVERY", 0.0)
    job = a_job(state="Running", workers="2/2")
    cluster = FakeCluster(job)
    cluster.after_list = lambda: cluster.remove(job)
    found = tide(cluster, "bert", "--live")
    assert (found.stdout, found.stderr) == ("Running  workers 2/2\n", "Job bert was deleted.\n")
