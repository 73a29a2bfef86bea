# SPDX-License-Identifier: Apache-2.0
"""How training went, from what launchers report."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.unit.views.builders import a_job, a_pod, at, stamp

from springtide.views.jobs import job_view
from springtide.views.logs.training_history import History, line, picture
from springtide.views.pages.tables import display_width


def report(step: Any, loss: Any = None, **more: Any) -> str:
    words = {"springtide": "progress", "step": step, "loss": loss, **more}
    return json.dumps({name: value for name, value in words.items() if value is not None}, separators=(",", ":"))


def of_reports(*reports: str) -> History:
    history = History()
    history.read_log(reports)
    return history


def steps(history: History) -> list[int]:
    return [each.step for each in history.points]


def test_reports_are_found_among_other_lines_of_a_log() -> None:
    log = ["[0]<stdout>:step 3", report(10, 2.0), "{}", " " + report(15), report(20, 1.5), ""]
    assert of_reports(*log).losses == [(10, 2.0), (20, 1.5)]


@pytest.mark.parametrize(
    "said",
    [
        "",
        "{",
        "[]",
        "null",
        report("many"),
        report(True),
        report(-1),
        report(10) + " " * (256 * 1024),
        '{"step":1e999}',
    ],
)
def test_what_is_no_report_adds_nothing(said: str) -> None:
    history = History()
    assert not history.read(said)
    assert history.points == []


@pytest.mark.parametrize("loss", ["low", True, [1], {"a": 1}])
def test_a_strange_loss_is_none(loss: Any) -> None:
    assert of_reports(report(10, loss)).losses == []
    assert steps(of_reports(report(10, loss))) == [10]


def test_the_same_report_counts_once() -> None:
    history = of_reports(report(10, 2.0, at=stamp(1)))
    assert not history.read(report(10, 2.0, at=stamp(1)))
    assert not history.read(report(9, 2.0, at=stamp(1)))
    assert steps(history) == [10]


def test_what_is_trained_again_is_there_once() -> None:
    reports = [report(step, at=stamp(second)) for step, second in ((10, 1), (20, 2), (30, 3), (15, 4), (25, 5))]
    assert steps(of_reports(*reports)) == [10, 15, 25]


def test_the_status_says_it_where_no_log_can_be_read() -> None:
    history, said = History(), {"step": 40, "loss": "0.25", "ranks": 2, "updateTime": stamp(9)}
    assert history.read_status(job_view(a_job(progress=said)))
    assert not history.read_status(job_view(a_job(progress=said)))
    assert not history.read_status(job_view(a_job(progress={"ranks": 2})))
    assert not history.read_status(job_view(a_job()))
    assert history.losses == [(40, 0.25)]


def test_a_change_of_ranks_is_marked_at_its_step() -> None:
    ranks = ((10, 2), (20, 2), (30, 3), (40, 12), (50, 2))
    assert of_reports(*(report(step, size=size) for step, size in ranks)).marks == [
        (0, 2, "2"),
        (20, 3, "3"),
        (30, 12, "+"),
        (40, 2, "2"),
    ]


@pytest.mark.parametrize(
    ("reports", "rate"),
    [
        ([], None),
        ([report(10, at=stamp(0))], None),
        ([report(10), report(20)], None),
        ([report(10, at=stamp(0)), report(30, at=stamp(10))], (2.0, "steps/s")),
        ([report(10, at=stamp(0)), report(30, at=stamp(10), samples_per_second=800)], (800.0, "samples/s")),
        ([report(n * 10, at=stamp(n)) for n in range(9)] + [report(82, at=stamp(13))], (4.0, "steps/s")),
    ],
)
def test_the_throughput_is_what_the_program_says_or_that_of_the_last_steps(
    reports: list[str], rate: tuple[float, str] | None
) -> None:
    found = of_reports(*reports).rate
    if found is not None:
        found = round(found[0], 6), found[1]
    assert found == rate


def test_one_line_says_where_training_is() -> None:
    view = job_view(a_job(state="Running", workers="3/4", minReplicas=1, maxReplicas=8))
    assert (
        line(view, of_reports(report(340, 0.047923, size=3)))
        == "Running  workers 3/4 (1-8)  step 340  loss 0.04792  ranks 3"
    )
    assert line(view, History()) == "Running  workers 3/4 (1-8)"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_picture_fits_its_terminal(width: int) -> None:
    job = a_job(state="Running", workers="2/2", explanation="The job runs with 2 workers. " * 5)
    view = job_view(job, [a_pod(job, "launcher"), *(a_pod(job, "worker", n) for n in range(9))])
    history = of_reports(*(report(step, 2 / step, size=2) for step in range(10, 200, 10)))
    lines = [re.sub(r"\x1b\[\d*m", "", each) for each in picture(view, history, at(60), width)]
    assert max(map(display_width, lines)) <= width
    assert lines[0].startswith("bert  60s  The job runs")
    assert lines[1].startswith("Running  workers 2/2")
    assert lines[-1].startswith("launcher Running, worker-0 Running")
    assert sum("█" in each for each in lines) > 4
    assert any(each.endswith(" step 190") for each in lines)


def test_without_a_loss_there_is_no_curve() -> None:
    lines = picture(job_view(a_job(state="Queued", explanation="It waits."), []), History(), at(5), 80)
    assert lines == ["bert  5s  It waits.", "Queued  workers 0/2", "", ""]


@pytest.mark.parametrize("losses", [[(1, 5.0)], [(1, 0.0), (2, 0.0)], [(1, -3.0), (2, -4.0)], [(1, 1e-30), (2, 1e30)]])
def test_any_losses_can_be_drawn(losses: list[tuple[int, float]]) -> None:
    view = job_view(a_job(state="Running"))
    assert picture(view, of_reports(*(report(step, loss) for step, loss in losses)), at(5), 80)
