# SPDX-License-Identifier: Apache-2.0
"""What docs/trainingjobs.md and its translation say is so: the commands run, and fields and annotations are those there
are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from tests.docs import pages
from tests.docs.pages import DOCS, ROOT

from springtide.api.kinds import scalers, trainingjob
from springtide.api.kinds.status import JobStatus
from springtide.api.validation.trainingjob import admission_errors
from springtide.jobs.kinds.elastic_training import files

PAGES = ("trainingjobs.md", "zh/trainingjobs.md")
EXAMPLES = ROOT / "examples" / "trainingjob"
each_page = pytest.mark.parametrize("page", PAGES)


@pytest.mark.timeout(250)
@pytest.mark.skipif(not pages.TOOLS, reason="needs kubectl: make test-docs")
def test_its_commands_run(home: Path) -> None:
    said = pages.run(DOCS / "trainingjobs.md", home, patience=200)
    assert re.search(r"^digits +Running +Running +3/3 +1 +3 ", said, re.MULTILINE)
    assert re.search(r"digits-out +ScaleSucceeded +\S+ +digits +2 +3$", said, re.MULTILINE)
    assert re.search(r"digits-in +ScaleSucceeded +\S+ +digits +3 +2$", said, re.MULTILINE)


def test_the_translation_has_the_same_commands_sections_and_rows() -> None:
    pages.assert_same(*PAGES)


@each_page
def test_its_links_lead_to_sections(page: str) -> None:
    pages.assert_links(DOCS / page)


@each_page
def test_phases_conditions_files_and_annotations_are_those_there_are(page: str) -> None:
    text = (DOCS / page).read_text()
    words = [
        *(value for name, value in vars(trainingjob).items() if name.startswith("PHASE_")),
        *(trainingjob.WORKERS_CREATED, trainingjob.WORKERS_READY, trainingjob.LAUNCHER_CREATED),
        *(scalers.CREATED, scalers.SCALING, scalers.SCRIPT_EXECUTED, scalers.SCALE_SUCCEEDED, scalers.SCALE_FAILED),
        *(f"{files.LIVE_PATH}/{each}" for each in files.LIVE),
        f"{files.DEEPSPEED_PATH}/hostfile",
        f'{trainingjob.SUSPENDED_ANNOTATION}: "true"',
        f'{trainingjob.QUEUED_ANNOTATION}: "true"',
        f'{trainingjob.MAX_WAIT_TIME_ANNOTATION}: "600"',
        f"{trainingjob.JOB_STATUS_ANNOTATION}: {trainingjob.TIMED_OUT}",
        f"{trainingjob.START_SIZE_ANNOTATION}: {trainingjob.START_AT_MINIMUM}",
        f"{trainingjob.SSH_SECRET_ANNOTATION}: NAME",
    ]
    assert [word for word in words if f"`{word}`" not in text] == []


@each_page
def test_fields_that_were_added_to_the_status_are_listed(page: str) -> None:
    (row,) = re.findall(r"^\| TrainingJob \| `\.status\.state`(.*?) \|", (DOCS / page).read_text(), re.MULTILINE)
    of_original = {"conditions", "replica_statuses", "start_time", "completion_time", "last_reconcile_time"}
    added = set(JobStatus.__struct_fields__) - of_original
    assert {_wire(name) for name in added} == {"state", *re.findall(r"`(\w+)`", row)}


def _wire(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def test_its_examples_are_valid() -> None:
    objects = [each for path in EXAMPLES.glob("*.yaml") for each in yaml.safe_load_all(path.read_text())]
    (job,) = [each for each in objects if each["kind"] == "TrainingJob"]
    assert admission_errors(job) == []
    assert {each["kind"] for each in objects} == {"ConfigMap", "TrainingJob", "ScaleOut", "ScaleIn"}
