# SPDX-License-Identifier: Apache-2.0
"""What docs/operator.md and its translation say is so: the metrics and their labels, and the flags."""

from __future__ import annotations

import re

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.docs.pages import DOCS

from springtide.api.kinds.conditions import CREATED, FAILED, RESTARTING, SUCCEEDED, Condition
from springtide.api.kinds.status import JobStatus
from springtide.cli.cluster.up import up
from springtide.cli.operator.command import operator
from springtide.controllers.metrics import OK, Figures, Metrics
from springtide.kube.resources import Key

PAGES = ("operator.md", "zh/operator.md")
KUBECTL = {"--help", "--replicas", "--selector", "--since", "--tail"}
_ROW = re.compile(r"^\| `(\w+)` \|([\w, ]*)\|", re.MULTILINE)


def served() -> dict[str, set[str]]:
    """Every metric of an operator that has seen everything once, and its labels."""
    metrics, key = Metrics(), Key("a", "b")
    metrics.follow("MPIJob", lambda: [Figures("a", "b-launcher", "Running", 1, 1)], lambda: 0)
    metrics.told("MPIJob", key, JobStatus(workers="1/1"), JobStatus(workers="2/2", state="Running"))
    ends = [Condition(type=each, status="True") for each in (CREATED, RESTARTING, SUCCEEDED, FAILED)]
    metrics.told("TFJob", key, JobStatus(), JobStatus(conditions=tuple(ends)))
    metrics.leads(True)
    metrics.deleted("TFJob", key.namespace)
    metrics.reconciled("MPIJob", 0.1, OK)
    metrics.requested("GET", "200")
    families = text_string_to_metric_families(metrics.text()[0].decode())
    return {
        f"{family.name}_total" if family.type == "counter" else family.name: {
            label for sample in family.samples for label in sample.labels if label != "le"
        }
        for family in families
        if not family.name.startswith("process_")
    }


@pytest.mark.parametrize("page", PAGES)
def test_every_metric_is_in_the_table_with_its_labels(page: str) -> None:
    rows = _ROW.findall((DOCS / page).read_text())
    listed = {name: {label for label in labels.strip().split(", ") if label} for name, labels in rows}
    assert listed == served()


@pytest.mark.parametrize("page", PAGES)
def test_every_flag_that_is_named_exists(page: str) -> None:
    known = {flag for command in (operator, up) for option in command.params for flag in option.opts}
    assert set(re.findall(r"--[a-z-]+[a-z]", (DOCS / page).read_text())) - KUBECTL <= known
