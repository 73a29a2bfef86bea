# SPDX-License-Identifier: Apache-2.0
"""Pods without an agent. Everything in this folder runs as root and, by `test_ordinary_user`, as an ordinary user."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.integration.runtime.pods import Pods

from springtide.local.network import netd_client
from springtide.local.runtime import isolation, remains


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skip where this machine has no namespaces for us."""
    findings = isolation.probe()
    if findings.isolation == "none":
        pytest.skip("; ".join(f"{finding.title}: {finding.why}" for finding in findings.missing))


@pytest.fixture
def own_proc(namespaces: None) -> None:
    """Skip where a pod must make do with the host's /proc, as inside most containers."""
    for finding in isolation.probe().missing:
        if finding.name == "proc":
            pytest.skip(finding.why)


@pytest.fixture
def data() -> Iterator[Path]:
    """A data directory; outside the tree that pytest keeps, because overlay's work directories stop its clean-up."""
    folder = Path(tempfile.mkdtemp(prefix="tide-"))
    yield folder
    remains.discard(folder)


@pytest.fixture
async def pods(namespaces: None, data: Path) -> AsyncIterator[Pods]:
    """Pods on the host's network."""
    made = Pods(data, "")
    yield made
    await made.end()


@pytest.fixture
async def networked(namespaces: None, data: Path) -> AsyncIterator[Pods]:
    """Pods with addresses of their own."""
    await netd_client.ensure(data, uplink=False)
    made = Pods(data, str(netd_client.socket_path(data)))
    yield made
    await made.end()
    await netd_client.end(data)


@pytest.fixture
async def plain(data: Path) -> AsyncIterator[Pods]:
    """Pods where namespaces are refused."""
    made = Pods(data, "")
    yield made
    await made.end()
