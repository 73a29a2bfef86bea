# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from springtide.local.runtime import isolation, remains


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skip where this machine has no namespaces for us."""
    findings = isolation.probe()
    if findings.isolation == "none":
        pytest.skip("; ".join(f"{finding.title}: {finding.why}" for finding in findings.missing))


@pytest.fixture
def place() -> Iterator[Path]:
    """Outside the tree that pytest keeps, because overlay's work directories stop its clean-up."""
    folder = Path(tempfile.mkdtemp(prefix="tide-"))
    yield folder
    remains.discard(folder)
