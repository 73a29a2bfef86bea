# SPDX-License-Identifier: Apache-2.0
"""What an operator may do with jobs and scalers."""

from __future__ import annotations

from dataclasses import replace

from springtide.api.kinds.trainingjob import RESOURCE
from springtide.api.rights import rules

READ = ["get", "list", "watch"]


def granted(*, scalers: bool) -> dict[str, list[str]]:
    resource = RESOURCE if scalers else replace(RESOURCE, scalers=())
    found = [rule for rule in rules((resource,)) if rule["apiGroups"] == ["kai.alibabacloud.com"]]
    return {name: rule["verbs"] for rule in found for name in rule["resources"]}


def test_of_a_job_without_scalers_the_operator_changes_only_the_status() -> None:
    assert granted(scalers=False) == {
        "trainingjobs": [*READ, "delete"],
        "trainingjobs/status": ["patch"],
        "trainingjobs/finalizers": ["update"],
    }


def test_for_scalers_it_writes_the_size_of_the_job_and_owner_and_status_of_the_scaler() -> None:
    assert granted(scalers=True) == {
        "trainingjobs": [*READ, "patch", "delete"],
        "trainingjobs/status": ["patch"],
        "trainingjobs/finalizers": ["update"],
        "scaleouts": [*READ, "patch"],
        "scaleins": [*READ, "patch"],
        "scaleouts/status": ["patch"],
        "scaleins/status": ["patch"],
    }
