# SPDX-License-Identifier: Apache-2.0
"""Clusters for jobs: one per user and test process, and a namespace for every test.

`make e2e` sets SPRINGTIDE_TOOLS, where stock kubectl is.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache

import pytest
from tests.programs import clusters as embedded
from tests.programs.world import Cluster

NODES = ("--node", "one=cpu:16,memory:64Gi", "--node", "two=cpu:16,memory:64Gi,nvidia.com/vgpu:2,nvidia.com/gpumem:2k")
Start = Callable[[str], Cluster]


@pytest.fixture(scope="session")
def clusters() -> Iterator[Start]:
    """By user; started when first asked for, and kept."""
    with ExitStack() as stack:
        public = stack.enter_context(embedded.public_folder())

        @cache
        def started(user: str) -> Cluster:
            return stack.enter_context(embedded.running(public, *NODES, user=user))

        yield started


@pytest.fixture(scope="session", params=[embedded.OWN_USER, embedded.ORDINARY_USER])
def user(request: pytest.FixtureRequest) -> str:
    if request.param == embedded.ORDINARY_USER and os.geteuid() != 0:
        pytest.skip("whoever runs the tests is an ordinary user already")
    return str(request.param)


@pytest.fixture
def space(clusters: Start) -> Iterator[Cluster]:
    """The cluster of whoever runs the tests, in a namespace of the test's own."""
    with a_namespace(clusters(embedded.OWN_USER)) as cluster:
        yield cluster


@contextmanager
def a_namespace(cluster: Cluster) -> Iterator[Cluster]:
    name = f"e2e-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    yield replace(cluster, kubectl=replace(cluster.kubectl, namespace=name))
    cluster.kubectl("delete", "namespace", name, "--wait=false")
