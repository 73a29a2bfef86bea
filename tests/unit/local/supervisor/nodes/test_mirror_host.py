# SPDX-License-Identifier: Apache-2.0
"""Which node has the operator's mirror pods."""

from __future__ import annotations

import pytest

from springtide.local.supervisor.nodes.agents import mirror_host


@pytest.mark.parametrize(
    ("present", "nodes", "chosen"),
    [("", {"b", "a"}, "a"), ("b", {"b", "a"}, "b"), ("b", {"c", "a"}, "a"), ("b", set(), ""), ("", set(), "")],
)
def test_a_node_keeps_the_mirror_pods_as_long_as_it_is_there(present: str, nodes: set[str], chosen: str) -> None:
    assert mirror_host(present, nodes) == chosen
