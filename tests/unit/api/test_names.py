# SPDX-License-Identifier: Apache-2.0
"""Names that pods can bear, and what is said of the others."""

from __future__ import annotations

import pytest

from springtide.api.names import label_complaints

SENTENCE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
LONG = "must be no more than 63 characters"


@pytest.mark.parametrize(
    ("name", "complaints"),
    [
        ("a", []),
        ("pi-worker-0", []),
        ("a" * 63, []),
        ("a" * 64, [LONG]),
        ("1st", [SENTENCE]),
        ("Pi", [SENTENCE]),
        ("pi.v2", [SENTENCE]),
        ("pi-", [SENTENCE]),
        ("pi\n", [SENTENCE]),
        ("", [SENTENCE]),
        ("A" * 64, [LONG, SENTENCE]),
    ],
)
def test_a_name_of_a_pod_is_a_label(name: str, complaints: list[str]) -> None:
    assert label_complaints(name) == complaints
