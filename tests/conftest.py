# SPDX-License-Identifier: Apache-2.0
"""What every test relies on, and which of them `make test` leaves to `make test-clusters` and `make test-docs`."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The looptime plugin asks for the current event loop even around synchronous tests. If none was ever set, Python 3.11
# makes one that nobody closes, and the warning about it hits whichever test runs when it is collected.
asyncio.set_event_loop(None)

# A shell that runs tests in its background has them ignore Ctrl-C, and so would all whom tests start and send it to.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every run, and no complaint about a machine that is busy with something else.
settings.register_profile("springtide", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("springtide")

INTEGRATION = Path(__file__).parent / "integration"
OF_CLUSTERS = frozenset(
    INTEGRATION / name
    for name in (
        "bodies",
        "cli",
        "elastic",
        "environments",
        "examples",
        "kubelet",
        "kubelet_serving",
        "network",
        "runtime",
        "supervisor",
    )
)
"""Folders whose tests start processes: clusters, node agents, containers, launchers and ranks."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not OF_CLUSTERS.isdisjoint(item.path.parents):
            item.add_marker("clusters")
