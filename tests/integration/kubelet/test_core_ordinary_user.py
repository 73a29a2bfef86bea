# SPDX-License-Identifier: Apache-2.0
"""All that holds for pods of root holds for those of an ordinary user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.integration.runtime import ordinary


@pytest.mark.skipif(os.geteuid() != 0, reason="these tests are run by an ordinary user already")
@pytest.mark.timeout(300)
def test_everything_here_holds_for_an_ordinary_user() -> None:
    ordinary.rerun(Path(__file__).with_name("test_core_end_to_end.py"))
