# SPDX-License-Identifier: Apache-2.0
"""Tokens on an agent's standard output, among everything else that is printed there."""

from __future__ import annotations

import pytest

from springtide.elastic.protocol.tokens import announced, announcement


def test_an_agent_announces_its_tokens_in_one_line() -> None:
    assert announced(announcement([3, 4], ["abc", "def"])) == {3: "abc", 4: "def"}
    assert announced(announcement([3], ["abc"]) + "\r") == {3: "abc"}


@pytest.mark.parametrize("line", ["", "+ kubectl exec", "tiderun-agent-tokensX 1 a", " tiderun-agent-tokens 1 a"])
def test_other_lines_announce_nothing(line: str) -> None:
    assert announced(line) is None


@pytest.mark.parametrize("rest", ["", " ", " x y", " 1", " -1 a", " ² a", f" {'9' * 5000} a", " 1,2 a"])
def test_a_torn_announcement_names_no_worker_twice_and_raises_nothing(rest: str) -> None:
    found = announced(f"tiderun-agent-tokens{rest}")
    assert found is None or set(found) <= {1}
