# SPDX-License-Identifier: Apache-2.0
"""All of this folder again, without any rights."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.integration.runtime import ordinary


@pytest.mark.skipif(os.geteuid() != 0, reason="these tests are run by an ordinary user already")
@pytest.mark.timeout(300)
def test_everything_here_holds_for_an_ordinary_user(namespaces: None) -> None:
    ordinary.rerun(Path(__file__).parent)
