# SPDX-License-Identifier: Apache-2.0
"""The recorded verdicts on streams are still the real server's."""

from __future__ import annotations

import pytest
from tests.contract.apiserver.servers import oracle
from tests.contract.apiserver.stream_rights import Asking, recorded


@pytest.mark.timeout(180)
def test_the_real_server_gives_the_recorded_verdicts() -> None:
    assert Asking(oracle()).table() == recorded()
