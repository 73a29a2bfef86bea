# SPDX-License-Identifier: Apache-2.0
"""Launchers would rather be on nodes that stay, unless their users say otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.builders import a_template, an_mpijob

from springtide.api.defaults.mpijob import defaulted
from springtide.jobs.kinds.mpi.adapter import MPI_KIND
from springtide.jobs.observed import Settings
from springtide.jobs.parts.placing import SPOT_LABELS, preferring_nodes_that_stay

PREFERRED, REQUIRED = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("preferred", "required"))
STAYS = [
    {
        "weight": 100,
        "preference": {
            "matchExpressions": [
                {"key": key, "operator": "NotIn", "values": [value]} for key, value in SPOT_LABELS.items()
            ]
        },
    }
]
TERMS = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]}

ROWS: dict[str, tuple[dict[str, Any] | None, dict[str, Any]]] = {
    "none": (None, {"nodeAffinity": {PREFERRED: STAYS}}),
    "others": ({"podAffinity": {}}, {"podAffinity": {}, "nodeAffinity": {PREFERRED: STAYS}}),
    "what nodes must have": (
        {"nodeAffinity": {REQUIRED: TERMS}},
        {"nodeAffinity": {REQUIRED: TERMS, PREFERRED: STAYS}},
    ),
    "a preference of its own": ({"nodeAffinity": {PREFERRED: ["x"]}}, {"nodeAffinity": {PREFERRED: ["x"]}}),
    "no preference at all": ({"nodeAffinity": {PREFERRED: []}}, {"nodeAffinity": {PREFERRED: []}}),
}


@pytest.mark.parametrize(("given", "made"), ROWS.values(), ids=ROWS)
def test_what_a_template_says_stays(given: dict[str, Any] | None, made: dict[str, Any]) -> None:
    assert preferring_nodes_that_stay(given) == made


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_it_is_the_launcher_that_prefers_them(version: str) -> None:
    job = defaulted(an_mpijob(version))
    made = MPI_KIND.launching.manifest(job, Settings())
    spec = made["spec"]["template"]["spec"] if made["kind"] == "Job" else made["spec"]
    assert spec["affinity"]["nodeAffinity"][PREFERRED] == STAYS
    assert "affinity" not in MPI_KIND.pod(job, "Worker", 0, Settings())["spec"]


def test_the_users_template_is_not_changed() -> None:
    template = a_template("mpirun", "pi")
    template["spec"]["affinity"] = {"nodeAffinity": {}}
    MPI_KIND.launching.manifest(defaulted(an_mpijob(launcher={"template": template})), Settings())
    assert template["spec"]["affinity"] == {"nodeAffinity": {}}
