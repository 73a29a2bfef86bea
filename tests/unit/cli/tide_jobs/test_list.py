# SPDX-License-Identifier: Apache-2.0
"""`tide list`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import Result
from tests.unit.cli import fake_cluster
from tests.unit.cli.fake_cluster import FakeCluster
from tests.unit.views.builders import a_job, a_pod, a_role, stamp

from springtide.cli.tide_jobs import list as module
from springtide.cli.tide_jobs.output import outputs, watching

ENDED: dict[str, Any] = {"state": "Succeeded", "workers": "0/2", "completionTime": stamp(65)}


def some_jobs() -> list[dict[str, Any]]:
    bert = a_job(**ENDED, placement={"node": "node-a"})
    pi = a_job("MPIJob", name="pi", state="Queued", workers="0/2", explanation="2 of 2 workers cannot be scheduled.")
    pi["metadata"]["creationTimestamp"] = "2025-01-03T00:00:00Z"
    pi["status"] |= {"state": "Failed", "completionTime": "2025-01-03T00:01:00Z"}
    other = a_job("PyTorchJob", {"Master": a_role(gpus=8)}, name="elsewhere", state="Created")
    other["metadata"]["namespace"] = "team"
    return [bert, pi, other]


@pytest.fixture
def tide(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(cluster: FakeCluster, *args: str) -> Result:
        return fake_cluster.run(cluster, module.list_, *args, monkeypatch=monkeypatch)

    return run


def test_all_kinds_are_in_one_table_the_newest_first(tide: Any) -> None:
    found = tide(FakeCluster(*some_jobs()))
    assert (found.exit_code, found.stdout.splitlines()) == (
        0,
        [
            "NAME  STATE      WORKERS  GPUS  TRAINER  DURATION  NODE",
            "pi    Failed     0/2      0/2   mpijob   60s       -",
            "bert  Succeeded  0/2      0/2   etjob    65s       node-a",
        ],
    )


def test_no_pods_are_read_for_a_table(tide: Any) -> None:
    cluster = FakeCluster(*some_jobs())
    tide(cluster, "-o", "wide")
    assert len(cluster.requests) == 4
    assert not [each for each in cluster.requests if "pods" in each]


def test_wide_has_more_columns(tide: Any) -> None:
    lines = tide(FakeCluster(*some_jobs()), "-o", "wide").stdout.splitlines()
    assert lines[0].split()[7:] == ["BOUNDS", "STEP", "LOSS", "PRIORITY", "AGE", "EXPLANATION"]
    assert lines[1].endswith("2 of 2 workers cannot be scheduled.")


def test_all_namespaces_are_named(tide: Any) -> None:
    lines = tide(FakeCluster(*some_jobs()), "-A").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["NAMESPACE", "NAME"],
        ["default", "pi"],
        ["default", "bert"],
        ["team", "elsewhere"],
    ]


@pytest.mark.parametrize("type_", ["mpijob", "MPI", "mpi"])
def test_a_type_is_chosen(tide: Any, type_: str) -> None:
    cluster = FakeCluster(*some_jobs())
    assert tide(cluster, "-T", type_, "-o", "name").stdout == "mpijob.kubeflow.org/pi\n"
    assert len(cluster.requests) == 1


def test_an_unknown_type_is_a_mistake_in_usage(tide: Any) -> None:
    found = tide(FakeCluster(), "-T", "sparkjob")
    assert found.exit_code == 2
    assert found.stderr.startswith("error: There is no type of jobs sparkjob.\nhint: types are: etjob, ")


def test_kinds_that_the_cluster_lacks_have_no_jobs(tide: Any) -> None:
    found = tide(FakeCluster(a_job(), kinds=("TrainingJob", "Pod")), "-o", "name")
    assert (found.exit_code, found.stdout) == (0, "trainingjob.kai.alibabacloud.com/bert\n")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "There are no jobs in namespace default."),
        (["-n", "team"], "There are no jobs in namespace team."),
        (["-A"], "There are no jobs in any namespace."),
    ],
)
def test_an_empty_list_is_said_beside_the_output(tide: Any, args: list[str], said: str) -> None:
    found = tide(FakeCluster(), *args)
    assert (found.exit_code, found.stdout, found.stderr) == (0, "", f"{said}\n")


def test_it_is_said_in_chinese(tide: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert tide(FakeCluster()).stderr == "命名空间 default 中没有任务。\n"


def test_documents_have_their_pods(tide: Any) -> None:
    jobs = some_jobs()
    cluster = FakeCluster(*jobs, a_pod(jobs[0], "launcher"), a_pod(jobs[1], "worker", 0))
    shown = json.loads(tide(cluster, "-o", "json").stdout)
    assert [(each["name"], each["status"], each["state"]) for each in shown] == [
        ("pi", "FAILED", "Failed"),
        ("bert", "SUCCEEDED", "Succeeded"),
    ]
    assert [each["instances"][0]["name"] for each in shown] == ["pi-worker-0", "bert-launcher"]


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("jsonpath={.items[*].name}", "pi bert\n"),
        ('jsonpath={range [*]}{.name}={.state}{"\\n"}{end}', "pi=Failed\nbert=Succeeded\n\n"),
        ("custom-columns=JOB:.name,WHY:.explanation", "JOB   WHY\npi    2 of 2 workers cannot be scheduled.\nbert\n"),
    ],
)
def test_values_are_chosen_by_templates(tide: Any, output: str, shown: str) -> None:
    assert tide(FakeCluster(*some_jobs()), "-o", output).stdout == shown


def test_yaml_is_a_list(tide: Any) -> None:
    assert tide(FakeCluster(*some_jobs()), "-o", "yaml").stdout.startswith("- uuid: uid-pi\n  name: pi\n")


@pytest.mark.parametrize(
    "output", ["xml", "jsonpath", "json=x", "custom-columns=NAME", "jsonpath={.a[}", "jsonpath={range [*]}"]
)
def test_another_output_is_a_mistake_in_usage(tide: Any, output: str) -> None:
    found = tide(FakeCluster(*some_jobs()), "-o", output)
    assert (found.exit_code, found.stdout) == (2, "")
    assert "Traceback" not in found.stderr


def test_watching_shows_tables_only(tide: Any) -> None:
    assert tide(FakeCluster(), "-w", "-o", "json").exit_code == 2


@pytest.mark.parametrize(
    ("width", "heads"),
    [
        (30, ["NAME", "STATE", "WORKERS"]),
        (40, ["NAME", "STATE", "WORKERS", "GPUS", "DURATION"]),
        (80, ["NAME", "STATE", "WORKERS", "GPUS", "TRAINER", "DURATION", "NODE"]),
        (200, ["NAME", "STATE", "WORKERS", "GPUS", "TRAINER", "DURATION", "NODE"]),
    ],
)
def test_a_table_fits_its_terminal(tide: Any, monkeypatch: pytest.MonkeyPatch, width: int, heads: list[str]) -> None:
    monkeypatch.setattr(outputs, "terminal_width", lambda: width)
    lines = tide(FakeCluster(*some_jobs())).stdout.splitlines()
    assert lines[0].split() == heads
    assert max(map(len, lines)) <= width


def test_changes_are_lines_in_a_pipe(tide: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_PAUSE", 0.0)
    cluster = FakeCluster(a_job(**ENDED), kinds=("TrainingJob", "MPIJob"))
    later = a_job(**(ENDED | {"state": "Failed", "workers": "1/2"}))
    later["metadata"]["resourceVersion"] = "2"
    cluster.changes = [("MODIFIED", later)]
    found = tide(cluster, "-w")
    assert found.stdout.splitlines() == [
        "NAME  STATE      WORKERS  GPUS  TRAINER  DURATION  NODE",
        "bert  Succeeded  0/2      0/2   etjob    65s       -",
        "bert  Failed     1/2      0/2   etjob    65s       -",
    ]
