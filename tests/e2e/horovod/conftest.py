# SPDX-License-Identifier: Apache-2.0
"""One cluster with an environment in which Horovod is, made of a wheel that is built once per machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e import environments
from tests.e2e.conftest import Start, a_namespace
from tests.programs.clusters import OWN_USER
from tests.programs.world import Cluster


@pytest.fixture(scope="session")
def prepared(clusters: Start) -> Cluster:
    cluster = clusters(OWN_USER)
    environments.make(cluster, environments.HOROVOD)
    return cluster


@pytest.fixture
def here(prepared: Cluster) -> Iterator[Cluster]:
    with a_namespace(prepared) as cluster:
        yield cluster
