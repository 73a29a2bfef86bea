# SPDX-License-Identifier: Apache-2.0
"""The annotation of mirror pods: only with a node, and for ever."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.api.mirror_pods import MIRROR
from springtide.local.kinds.pod.pod_rules import validate_pod
from springtide.local.kinds.pod.pod_updates import validate_pod_update

PATH = f"metadata.annotations[{MIRROR}]"


def a_pod(hashed: str | None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", "annotations": {} if hashed is None else {MIRROR: hashed}}, "spec": spec}


@pytest.mark.parametrize(
    ("pod", "is_valid"), [(a_pod("x"), False), (a_pod("x", nodeName="a"), True), (a_pod(None), True)]
)
def test_a_mirror_pod_needs_a_node(pod: dict[str, Any], is_valid: bool) -> None:
    complaints = [str(error) for error in validate_pod(pod) if PATH in str(error)]
    assert (not complaints) == is_valid


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        (None, "x", "may not add mirror pod annotation"),
        ("x", None, "may not remove or update mirror pod annotation"),
        ("x", "y", "may not remove or update mirror pod annotation"),
        ("x", "x", ""),
        (None, None, ""),
    ],
)
def test_the_annotation_is_immutable(old: str | None, new: str | None, change: str) -> None:
    found = [str(error) for error in validate_pod_update(a_pod(new), a_pod(old))]
    assert found == ([f"{PATH}: Forbidden: {change}"] if change else [])
