# SPDX-License-Identifier: Apache-2.0
"""Why pods of new objects would wait on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from springtide.cli.jobs.changing import obstacles


def template(*containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"spec": {"roles": {"worker": {"template": {"spec": {"containers": list(containers), **more}}}}}}


def test_every_container_is_looked_at_and_each_reason_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    fine = {"image": "shell", "command": ["sh", "-c", "train"]}
    missing = {"image": "some/image:1", "command": ["no-such-program"]}
    fetching = {"image": "some/fetcher:1", "command": ["no-such-fetcher"]}
    found = obstacles.found(
        [template(fine, missing), template(missing, initContainers=[fetching]), {"data": {"a": "b"}}]
    )
    assert len(found) == 2
    assert "no-such-program" in found[0]
    assert "no-such-fetcher" in found[1]
    assert obstacles.found([template(fine), {"kind": "Deployment", **template(missing)}]) == []
