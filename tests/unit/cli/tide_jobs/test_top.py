# SPDX-License-Identifier: Apache-2.0
"""`tide top job` and `tide top node`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import Result
from tests.unit.cli import fake_cluster
from tests.unit.cli.fake_cluster import FakeCluster
from tests.unit.views.builders import a_job, a_pod, a_role, stamp
from tests.unit.views.pages.test_nodes import a_node

from springtide.cli.tide_jobs import top as module
from springtide.cli.tide_jobs.output import watching


@pytest.fixture
def tide(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(cluster: FakeCluster, *args: str) -> Result:
        return fake_cluster.run(cluster, module.top, *args, monkeypatch=monkeypatch)

    return run


def a_cluster() -> FakeCluster:
    ended: dict[str, Any] = {"state": "Succeeded", "completionTime": stamp(60), "workers": "0/2"}
    large = {"Master": a_role(gpus=8)}
    waits = a_job("PyTorchJob", large, name="gpt", state="Queued", workers="0/0", placement={"gpus": 4})
    busy = a_pod(a_job(), "worker", 0, gpus=2, node="gpu-1")
    return FakeCluster(a_job(**ended), waits, a_node("cpu-1"), a_node("gpu-1", gpus=4), busy)


def test_jobs_are_shown_with_totals_of_those_that_have_not_ended(tide: Any) -> None:
    found = tide(a_cluster(), "job")
    assert (found.exit_code, found.stdout.splitlines()) == (
        0,
        [
            "NAME  STATE      WORKERS  GPUS(ALLOCATED)  GPUS(REQUESTED)  DURATION  NODE",
            "gpt   Queued     0/0      4                8                0s        -",
            "bert  Succeeded  0/2      0                2                60s       -",
            "",
            "GPUs of all jobs: 4 allocated, 8 requested",
        ],
    )


def test_jobs_are_chosen_by_name(tide: Any) -> None:
    assert tide(a_cluster(), "job", "bert", "-o", "name").stdout == "trainingjob.kai.alibabacloud.com/bert\n"
    found = tide(a_cluster(), "job", "bart")
    assert (found.exit_code, found.stderr) == (
        5,
        "error: There is no job bart in namespace default.\nhint: did you mean bert?\n",
    )


def test_nodes_are_shown_with_totals(tide: Any) -> None:
    found = tide(a_cluster(), "node")
    assert (found.exit_code, found.stdout.splitlines()) == (
        0,
        [
            "NAME   STATUS  ROLE  GPUS  UNHEALTHY  CPU  MEMORY  PODS",
            "cpu-1  Ready   -     -     -          0/8  0/32Gi  0",
            "gpu-1  Ready   -     2/4   -          0/8  0/32Gi  1",
            "",
            "GPUs of all nodes: 2 allocated of 4 (50.0%)",
        ],
    )


def test_nodes_are_chosen_by_name(tide: Any) -> None:
    assert tide(a_cluster(), "node", "gpu-1", "-o", "name").stdout == "node/gpu-1\n"
    found = tide(a_cluster(), "node", "gpu-2")
    assert (found.exit_code, found.stderr) == (
        5,
        "error: There is no node gpu-2.\nhint: the nodes are: cpu-1, gpu-1\n",
    )


def test_documents_of_nodes_are_arenas(tide: Any) -> None:
    shown = json.loads(tide(a_cluster(), "node", "-o", "json").stdout)
    assert list(shown) == ["gpuExclusiveNodes", "gpuShareNodes", "gpuTopologyNodes", "normalNodes"]


@pytest.mark.parametrize(("what", "heads"), [("job", "NAME  STATE"), ("node", "NAME   STATUS")])
def test_tables_follow_each_other_in_a_pipe(tide: Any, monkeypatch: pytest.MonkeyPatch, what: str, heads: str) -> None:
    monkeypatch.setattr(watching, "_PAUSE", 0.0)
    cluster = a_cluster()
    if what == "job":
        changed = a_job("PyTorchJob", name="gpt", state="Failed", completionTime=stamp(99), workers="0/0")
    else:
        changed = {"kind": "Node", **a_node("gpu-1", gpus=8)}
    changed["metadata"]["resourceVersion"] = "2"
    cluster.changes = [("MODIFIED", changed)]
    found = tide(cluster, what, "-w")
    assert found.stdout.count(heads) == 2
    assert "\n\nNAME" in found.stdout
    assert tide(cluster, what, "-w", "-o", "json").exit_code == 2


def test_another_word_is_suggested(tide: Any) -> None:
    assert "Did you mean 'node'?" in tide(a_cluster(), "nodes").stderr
