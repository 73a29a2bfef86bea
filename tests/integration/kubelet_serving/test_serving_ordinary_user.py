# SPDX-License-Identifier: Apache-2.0
"""Commands, logs and ports of an ordinary user's pods are like those of root's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.integration.runtime import ordinary


@pytest.mark.skipif(os.geteuid() != 0, reason="these tests are run by an ordinary user already")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["test_whole_node.py", "test_commands_in_pods.py"])
def test_everything_here_holds_for_an_ordinary_user(name: str) -> None:
    ordinary.rerun(Path(__file__).with_name(name))
