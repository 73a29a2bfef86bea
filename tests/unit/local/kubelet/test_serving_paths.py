# SPDX-License-Identifier: Apache-2.0
"""A kubelet's paths, and what may be asked with them."""

from __future__ import annotations

import pytest

from springtide.local.kubelet.serving.paths import Asked, parse
from springtide.local.streams.channels import Wanted


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/healthz", Asked("/healthz")),
        ("/pods", Asked("/pods")),
        ("/metrics/resource", Asked("/metrics/resource")),
        ("/containerLogs/ns/pod/main", Asked("containerLogs", "ns", "pod", "", "main")),
        (
            "/exec/ns/pod/main?command=a&command=b%20c",
            Asked("exec", "ns", "pod", "", "main", {"command": ["a", "b c"]}),
        ),
        ("/exec/ns/pod/uid/main", Asked("exec", "ns", "pod", "uid", "main")),
        ("/attach/ns/pod/main", Asked("attach", "ns", "pod", "", "main")),
        ("/portForward/ns/pod", Asked("portForward", "ns", "pod")),
        ("/portForward/ns/pod/uid", Asked("portForward", "ns", "pod", "uid")),
        ("/direct/ns/pod/main", Asked("direct", "ns", "pod", "", "main")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_path_names_what_is_asked_for(target: str, expected: Asked) -> None:
    assert parse(target) == expected


@pytest.mark.parametrize(
    "target",
    ["/", "/exec", "/exec/ns/pod", "/exec/ns//main", "/exec/a/b/c/d/e", "/run/ns/pod/main", "/pods/x", "/logs/"],
)
def test_other_paths_are_none(target: str) -> None:
    assert parse(target) is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", Wanted()),
        ("input=1&output=1&error=1", Wanted(stdin=True, stdout=True, stderr=True)),
        ("output=true", Wanted(stdout=True)),
        ("input=0&output=1", Wanted(stdout=True)),
        ("input=1&output=1&error=1&tty=1", Wanted(stdin=True, stdout=True, tty=True)),
    ],
)
def test_streams_are_asked_for_by_name(query: str, expected: Wanted) -> None:
    asked = parse(f"/exec/ns/pod/main?{query}")
    assert asked is not None
    assert asked.wanted == expected
