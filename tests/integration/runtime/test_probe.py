# SPDX-License-Identifier: Apache-2.0
"""The probe says what a pod can have here, and leaves nothing behind."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from springtide.local.runtime import isolation


def test_the_probe_knows_all_that_a_pod_needs(namespaces: None, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(data))
    findings = isolation.probe()
    needed = [name for name in isolation.NEEDED if os.geteuid() or name not in ("user", "own uid")]
    assert {finding.name for finding in findings.all} == {*needed, "proc", "overlay"}
    assert findings.isolation == "namespaces"
    assert not list(data.iterdir())
