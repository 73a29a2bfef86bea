# SPDX-License-Identifier: Apache-2.0
"""The container that fetches code."""

from __future__ import annotations

import pytest

from springtide.manifests.parts import code_sync


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("https://example.com/me/code.git", "code"),
        ("https://example.com/me/code/", "code"),
        ("git@example.com:me/code.git", "code"),
        ("/srv/code", "code"),
    ],
)
def test_the_code_gets_a_directory_of_the_repositorys_name(source: str, name: str) -> None:
    assert code_sync.project(source) == name
