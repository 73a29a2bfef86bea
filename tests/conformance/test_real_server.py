# SPDX-License-Identifier: Apache-2.0
"""Every scenario of the contract suite, played live on the embedded and on the real server side by side."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.contract.apiserver.comparing import accepted, complaints, differences
from tests.contract.apiserver.recording import played, recorded
from tests.contract.apiserver.scenarios import scenarios
from tests.contract.apiserver.servers import Server, embedded, oracle


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with embedded(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.mark.parametrize("name", scenarios())
def test_both_servers_give_the_same_answers(name: str, server: Server) -> None:
    scenario = scenarios()[name]
    # Twice if need be: a real server whose watch cache lags warns of a stale update before it refuses it.
    for _ in range(2):
        real = played(scenario, oracle())
        found = complaints(name, differences(real, played(scenario, server)), accepted())
        if not found:
            break
    assert not found, "\n".join(found)
    stale = [str(each) for each in differences(recorded(scenario), real)]
    assert not stale, "the recorded answers are not the real server's any more, run `make record`:\n" + "\n".join(stale)
