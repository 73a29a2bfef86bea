# SPDX-License-Identifier: Apache-2.0
"""What every test relies on, which of them `make test` leaves to `make test-clusters` and `make test-docs`, and which
`make test-pythons` leaves to `make test`."""

from __future__ import annotations

import asyncio
import os
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

# Clusters of tests make environments with uv, which `make` fetches where there is none: pip takes several times as
# long. `integration/environments` has both.
UV = Path(__file__).parents[1] / ".venv-uv" / "bin"
if UV.is_dir():
    os.environ["PATH"] += f"{os.pathsep}{UV}"

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

ENGINE = Path(__file__).parent / "unit" / "jobs"
OF_ONE_PYTHON = frozenset(
    ENGINE / name
    for name in (
        "kinds/elastic_training/test_elastic_training_in_any_order.py",
        "kinds/elastic_training/test_elastic_training_table.py",
        "kinds/mpi/test_mpi_in_any_order.py",
        "kinds/pytorch/test_pytorch_in_any_order.py",
        "kinds/tensorflow/test_tf_in_any_order.py",
        "kinds/test_table_of_events.py",
        "scaling/test_scalers_in_any_order.py",
        "scaling/test_turns.py",
        "test_hostile_replicas.py",
        "test_toy.py",
    )
)
"""Files of many generated plans. Plans are pure functions, of which the other files try each on every Python."""


ORDINARY_USERS = frozenset({"user", "ordinary user"})
"""What parameters call the user whose clusters are tried beside those of root."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    again = [item for item in items if os.geteuid() == 0 and _is_again(item)]
    if again:
        config.hook.pytest_deselected(items=again)
        items[:] = [item for item in items if not _is_again(item)]
    for item in items:
        if item.path in OF_ONE_PYTHON:
            item.add_marker("one_python")
        if not OF_CLUSTERS.isdisjoint(item.path.parents):
            item.add_marker("clusters")


def _is_again(item: pytest.Item) -> bool:
    """Whether the test is the same for root and for an ordinary user, and this is the one of the latter."""
    parameters = getattr(item, "callspec", None)
    if parameters is None or item.get_closest_marker("any_user") is None:
        return False
    return any(isinstance(value, str) and value in ORDINARY_USERS for value in parameters.params.values())
