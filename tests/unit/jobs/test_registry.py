# SPDX-License-Identifier: Apache-2.0
"""Both lists of kinds have the same entries."""

from __future__ import annotations

import pytest
from tests.unit.api.builders import an_mpijob

from springtide.api.kinds.registry import RESOURCES
from springtide.jobs.registry import SERVED


def test_every_kind_that_is_defined_is_served() -> None:
    assert tuple(each.definition for each in SERVED) == RESOURCES


@pytest.mark.parametrize(
    ("spec", "version"),
    [
        ({"launcherAttachMode": "kubexec"}, "kubeflow.org/v1"),
        ({"launcherAttachMode": "ssh"}, "kubeflow.org/v2beta1"),
        ({}, None),
        ({"launcherAttachMode": "smoke signals"}, None),
    ],
)
def test_the_version_that_a_job_came_by_is_read_off_a_field_that_never_changes(
    spec: dict[str, str], version: str | None
) -> None:
    assert SERVED[0].submitted_as(spec) == version


def test_a_kind_of_one_version_does_not_say_it() -> None:
    served = type(SERVED[0])
    fields = {name: getattr(SERVED[0], name) for name in ("definition", "adapter", "read", "errors")}
    one = served(**fields, admission_errors=SERVED[0].admission_errors, component="x")
    assert one.submitted_as({"launcherAttachMode": "ssh"}) is None
    assert one.metrics == ""


def test_a_size_that_nothing_starts_with_is_cautioned_of() -> None:
    command = ("horovodrun", "-np", "4", "--min-np", "2", "--max-np", "8", "python", "x")
    raw = an_mpijob(workers=3, command=command)
    (caution,) = SERVED[0].cautions(raw, None)
    assert caution.startswith("3 workers are requested, but the launcher cannot start with fewer than 4")
