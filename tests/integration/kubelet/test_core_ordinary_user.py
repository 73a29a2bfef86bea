# SPDX-License-Identifier: Apache-2.0
"""What depends on rights holds for pods of an ordinary user as for those of root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.integration.runtime import ordinary


@pytest.mark.skipif(os.geteuid() != 0, reason="these tests are run by an ordinary user already")
@pytest.mark.timeout(300)
def test_everything_here_holds_for_an_ordinary_user() -> None:
    ordinary.rerun(Path(__file__).with_name("test_core_end_to_end.py"))
