# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.robustness_pods.clusters import Victim, victim

KINDS = ("root", "user")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("only root can start a cluster as root")
    return str(request.param)


@pytest.fixture
def cluster(kind: str) -> Iterator[Victim]:
    """One of the test's own, up."""
    with victim(kind) as found:
        found.up()
        yield found
