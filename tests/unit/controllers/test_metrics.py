# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from tests.unit.jobs.toy import TOY_KIND, ToyKind

from springtide.api.kinds.conditions import Condition
from springtide.api.kinds.status import JobStatus
from springtide.controllers import metrics as m
from springtide.controllers.metrics import Figures, Metrics, figures, is_accepted
from springtide.jobs.kinds.mpi.adapter import MPI_KIND
from springtide.kube.resources import Key

KIND, KEY = "MPIJob", Key("team", "mnist")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def said(metrics: Metrics) -> dict[str, float]:
    """Every sample, by its name and labels."""
    text = metrics.text()[0].decode()
    return {
        sample.name + "".join(f" {name}={value}" for name, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def status(*conditions: str, workers: str = "", state: str = "Running") -> JobStatus:
    true = tuple(Condition(type=each, status="True") for each in conditions)
    return JobStatus(conditions=true, workers=workers, state=state)


def test_upstreams_counters_are_there_from_the_beginning() -> None:
    found = said(Metrics())
    names = ("created", "successful", "failed")
    assert [found[f"mpi_operator_jobs_{name}_total"] for name in names] == [0, 0, 0]
    assert found["mpi_operator_is_leader"] == 0
    assert sorted(name for name in found if name.startswith("mpi_operator")) == [
        "mpi_operator_is_leader",
        *(f"mpi_operator_jobs_{name}_total" for name in sorted(names)),
    ]


def test_a_job_is_counted_when_its_condition_is_first_written() -> None:
    metrics = Metrics()
    metrics.told(KIND, KEY, status(), status("Created"))
    metrics.told(KIND, KEY, status("Created"), status("Created", "Running"))
    metrics.told(KIND, KEY, status("Created", "Running"), status("Created", "Succeeded"))
    found = said(metrics)
    assert found["mpi_operator_jobs_created_total"] == 1
    assert found["mpi_operator_jobs_successful_total"] == 1
    assert found["mpi_operator_jobs_failed_total"] == 0


def test_a_restarted_operator_counts_nobody_twice() -> None:
    metrics = Metrics()
    metrics.told(KIND, KEY, status("Created", workers="1/2"), status("Created", workers="2/2"))
    assert said(metrics)["mpi_operator_jobs_created_total"] == 0


def test_another_kind_does_not_count_as_upstreams() -> None:
    metrics = Metrics()
    metrics.told("TrainingJob", KEY, status(), status("Created"))
    assert said(metrics)["mpi_operator_jobs_created_total"] == 0


def test_jobs_with_a_launcher_are_listed_while_they_are_in_the_cache() -> None:
    jobs = [Figures("team", "mnist-launcher", "Running", 2, 2), Figures("team", "", "Created", 0, 2)]
    metrics = Metrics()
    metrics.follow(KIND, lambda: jobs, lambda: 7)
    found = said(metrics)
    listed = "mpi_operator_job_info launcher=mnist-launcher namespace=team"
    assert found[listed] == 1
    assert len([name for name in found if name.startswith("mpi_operator_job_info")]) == 1
    assert found["springtide_queue_depth kind=MPIJob"] == 7
    jobs.clear()
    assert listed not in said(metrics)


def test_workers_are_summed_over_jobs_that_want_any() -> None:
    jobs = [
        Figures("a", "x", "Running", 2, 3),
        Figures("b", "y", "Starting", 0, 4),
        Figures("b", "z", "Succeeded", 0, 8),
        Figures("b", "", "Suspended", 0, 8),
    ]
    metrics = Metrics()
    metrics.follow(KIND, lambda: jobs, lambda: 0)
    found = said(metrics)
    assert found["springtide_workers_ready kind=MPIJob"] == 2
    assert found["springtide_workers_wanted kind=MPIJob"] == 7
    assert found["springtide_jobs kind=MPIJob state=Running"] == 1


def test_figures_are_read_off_a_cached_job() -> None:
    metadata = {"namespace": "a", "name": "x"}
    status = {"workers": "3/4", "state": "Running", "replicaStatuses": {"Launcher": {"active": 1}, "Worker": {}}}
    assert figures(MPI_KIND, metadata, status) == Figures("a", "x-launcher", "Running", 3, 4)
    for nothing in (None, {}, "?", {"workers": None, "replicaStatuses": None}, {"workers": "x/y"}):
        assert figures(MPI_KIND, metadata, nothing) == Figures("a", "", "", 0, 0)


def test_a_launcher_has_the_name_that_its_kind_gives_it() -> None:
    class Led(ToyKind):
        def launcher_role(self) -> str:
            return "Leader"

        def launcher_name(self, job: str) -> str:
            return f"{job}-leader"

    metadata = {"namespace": "a", "name": "x"}
    status: dict[str, Any] = {"replicaStatuses": {"Leader": {}}}
    assert figures(Led(), metadata, status).launcher == "x-leader"
    assert figures(TOY_KIND, metadata, status).launcher == ""


def test_a_resize_is_timed_until_all_workers_are_listed() -> None:
    clock = Clock()
    metrics = Metrics(clock)
    steps = [
        status(workers="2/2"),
        status(workers="2/4", state="Scaling out"),
        status(workers="4/4", state="Scaling out"),
        status(workers="4/4"),
        status(workers="4/4"),
    ]
    for old, new in pairwise(steps):
        metrics.told(KIND, KEY, old, new)
        clock.now += 1
    found = said(metrics)
    assert found["springtide_resizes_total direction=out kind=MPIJob"] == 1
    assert found["springtide_resize_seconds_count direction=out kind=MPIJob"] == 1
    assert found["springtide_resize_seconds_sum direction=out kind=MPIJob"] == 2


def test_a_shrink_is_timed_until_the_drain_is_over() -> None:
    clock = Clock()
    metrics = Metrics(clock)
    metrics.told(KIND, KEY, status(workers="4/4"), status(workers="4/2", state="Scaling in"))
    clock.now += 3
    metrics.told(KIND, KEY, status(workers="4/2", state="Scaling in"), status(workers="2/2"))
    assert said(metrics)["springtide_resize_seconds_sum direction=in kind=MPIJob"] == 3


def test_the_first_size_is_no_resize() -> None:
    metrics = Metrics()
    metrics.told(KIND, KEY, JobStatus(), status("Created", workers="0/2", state="Starting"))
    assert not [name for name in said(metrics) if name.startswith("springtide_resizes_total")]


def test_a_resize_that_its_job_does_not_live_to_see_is_not_timed() -> None:
    metrics = Metrics()
    ends: tuple[Callable[[], None], ...] = (
        lambda: metrics.forgotten(KIND, KEY),
        lambda: metrics.told(KIND, KEY, status(workers="2/4"), status(workers="2/4", state="Suspended")),
    )
    for gone in ends:
        metrics.told(KIND, KEY, status(workers="2/2"), status(workers="2/4", state="Scaling out"))
        gone()
        metrics.told(KIND, KEY, status(workers="2/4"), status(workers="4/4"))
    assert "springtide_resize_seconds_count direction=out kind=MPIJob" not in said(metrics)


def test_reconciles_and_requests_are_counted() -> None:
    metrics = Metrics()
    metrics.reconciled(KIND, 0.004, m.OK)
    metrics.reconciled(KIND, 0.004, m.ERROR)
    metrics.requested("PATCH", "200")
    metrics.leads(True)
    found = said(metrics)
    assert found["springtide_reconciles_total kind=MPIJob outcome=ok"] == 1
    assert found["springtide_reconciles_total kind=MPIJob outcome=error"] == 1
    assert found["springtide_reconcile_seconds_bucket kind=MPIJob le=0.005"] == 2
    assert found["springtide_api_requests_total code=200 verb=PATCH"] == 1
    assert found["mpi_operator_is_leader"] == 1


def test_the_format_is_the_one_that_is_asked_for() -> None:
    assert Metrics().text()[1].startswith("text/plain")
    assert Metrics().text("application/openmetrics-text; version=1.0.0")[1].startswith("application/openmetrics-text")


def of_framework(metrics: Metrics, word: str, framework: str = "tensorflow") -> float:
    return said(metrics).get(f"training_operator_jobs_{word}_total framework={framework} job_namespace=team", 0)


def test_jobs_are_counted_by_namespace_and_framework_as_by_training_operator() -> None:
    metrics = Metrics()
    steps = [status(), status("Created"), status("Created", "Restarting"), status("Created", "Running")]
    for old, new in pairwise([*steps, status("Created", "Restarting"), status("Created", "Failed")]):
        metrics.told("TFJob", KEY, old, new)
    metrics.told("PyTorchJob", KEY, status("Created", "Running"), status("Created", "Succeeded"))
    metrics.told(KIND, KEY, status(), status("Created"))
    words = ("created", "restarted", "failed", "successful")
    assert [of_framework(metrics, word) for word in words] == [1, 2, 1, 0]
    assert of_framework(metrics, "successful", "pytorch") == 1
    assert of_framework(metrics, "created", "mpi") == said(metrics)["mpi_operator_jobs_created_total"] == 1


def test_a_deleted_job_is_counted_by_the_leader_alone() -> None:
    metrics = Metrics()
    metrics.deleted("TFJob", "team")
    metrics.leads(True)
    metrics.deleted("TFJob", "team")
    metrics.deleted("TrainingJob", "team")
    assert of_framework(metrics, "deleted") == 1


def test_a_job_was_accepted_if_its_status_says_so() -> None:
    assert is_accepted({"conditions": [{"type": "Created", "status": "True"}]})
    for other in (
        None,
        {},
        "?",
        {"conditions": None},
        {"conditions": "Created"},
        {"conditions": [{"type": "Invalid"}]},
    ):
        assert not is_accepted(other)
