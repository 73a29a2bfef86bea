# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest

from springtide.local.kubelet.node.file_lock import TakenError, take


def test_a_turn_is_one_agent_s_until_it_ends(tmp_path: Path) -> None:
    lock = tmp_path / "nodes/a/agent.lock"
    turn = take(lock, patience=0)
    with pytest.raises(TakenError):
        take(lock, patience=0.05)
    os.close(turn)
    os.close(take(lock, patience=0))
