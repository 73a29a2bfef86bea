# SPDX-License-Identifier: Apache-2.0
"""What a whole pod asks for."""

from __future__ import annotations

import pytest
from tests.unit.local.scheduler.things import GPU, a_pod

from springtide.local.scheduler.state import amounts


def test_cpu_in_thousandths_everything_else_in_units() -> None:
    assert amounts.read({"cpu": "1500m", "memory": "1Ki", GPU: 2}) == {"cpu": 1500, "memory": 1024, GPU: 2}


@pytest.mark.parametrize(("name", "amount", "text"), [("cpu", 1500, "1500m"), ("cpu", 2000, "2"), (GPU, 3, "3")])
def test_and_back(name: str, amount: int, text: str) -> None:
    assert amounts.written(name, amount) == text


def test_a_container_that_asks_for_nothing_is_taken_to_use_a_little() -> None:
    assert a_pod().usual == {"cpu": 100, "memory": 200 * 1024 * 1024}
    assert a_pod(wants={"cpu": "1"}).usual == {"cpu": 1000, "memory": 200 * 1024 * 1024}
    assert a_pod().requests == {}


def test_init_containers_before_and_after_a_sidecar() -> None:
    first = {"resources": {"requests": {"cpu": "5"}}}
    sidecar = {"restartPolicy": "Always", "resources": {"requests": {"cpu": "2"}}}
    last = {"resources": {"requests": {"cpu": "4"}}}
    assert a_pod(wants={"cpu": "1"}, initContainers=[first, sidecar]).requests["cpu"] == 5000
    assert a_pod(wants={"cpu": "1"}, initContainers=[first, sidecar, last]).requests["cpu"] == 6000
    assert a_pod(wants={"cpu": "9"}, initContainers=[first, sidecar, last]).requests["cpu"] == 11000
