# SPDX-License-Identifier: Apache-2.0
"""What is said while objects of an earlier job of the same name are in the way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from springtide.jobs import host_list

NOW = datetime(2026, 11, 16, 6, tzinfo=UTC)
WAITS = "The job waits until objects of an earlier MPIJob of the same name are deleted: "


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ({"ConfigMap pi-config": None}, "ConfigMap pi-config"),
        (
            {"Pod pi-worker-0": NOW + timedelta(seconds=30), "Pod pi-worker-1": NOW + timedelta(seconds=20)},
            "Pod pi-worker-0, Pod pi-worker-1; their grace periods end by 06:00:30 UTC",
        ),
        ({"Pod pi-worker-0": NOW - timedelta(seconds=1)}, "Pod pi-worker-0"),
        ({f"Pod {number}": None for number in range(7)}, "Pod 0, Pod 1, Pod 2, Pod 3, Pod 4 and 2 more"),
    ],
)
def test_it_is_named_and_how_long_it_may_take(left: dict[str, datetime | None], said: str) -> None:
    assert host_list.remains("MPIJob", left, NOW) == WAITS + said
