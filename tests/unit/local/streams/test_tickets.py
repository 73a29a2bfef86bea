# SPDX-License-Identifier: Apache-2.0
"""Where a node is asked for a ticket."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.local.status import StatusError
from springtide.local.streams import tickets
from springtide.local.streams.kubelet import Kubelet

NODE = Kubelet("10.0.0.7", 10250)


def a_pod(*containers: str) -> dict[str, Any]:
    spec = {"nodeName": "n", "containers": [{"name": name} for name in containers]}
    return {"metadata": {"name": "p", "namespace": "ns"}, "spec": spec}


@pytest.mark.parametrize(
    ("query", "target"),
    [
        ({"command": ["echo", "a b"]}, "/direct/ns/p/main?command=echo&command=a+b"),
        ({"command": ["sh"], "tty": ["true"], "stdin": ["true"]}, "/direct/ns/p/main?command=sh&tty=1"),
        ({"command": ["sh"], "tty": ["false"], "container": ["main"]}, "/direct/ns/p/main?command=sh"),
    ],
)
def test_the_command_goes_to_the_pods_node(query: dict[str, list[str]], target: str) -> None:
    assert tickets.location(NODE, a_pod("main"), query).target == target


def test_a_container_is_chosen_or_refused_as_for_any_exec() -> None:
    assert tickets.location(NODE, a_pod("a", "b"), {"container": ["b"]}).target == "/direct/ns/p/b"
    with pytest.raises(StatusError, match="a container name must be specified for pod p"):
        tickets.location(NODE, a_pod("a", "b"), {})
