# SPDX-License-Identifier: Apache-2.0
"""The embedded server answers as the real one did when it was recorded."""

from __future__ import annotations

import pytest
from tests.contract.apiserver.comparing import accepted, complaints, differences
from tests.contract.apiserver.recording import played, recorded
from tests.contract.apiserver.scenarios import scenarios
from tests.contract.apiserver.servers import Server


@pytest.mark.parametrize("name", scenarios())
def test_answers_as_the_real_server(name: str, server: Server) -> None:
    scenario = scenarios()[name]
    found = differences(recorded(scenario), played(scenario, server))
    assert not complaints(name, found, accepted()), "\n".join(complaints(name, found, accepted()))


def test_every_accepted_difference_names_a_step_that_exists() -> None:
    known = scenarios()
    strangers = [
        place
        for place in accepted()
        if place.scenario not in known
        or not ("*" in place.step or place.step in [s.name for s in known[place.scenario].steps])
    ]
    assert not strangers
