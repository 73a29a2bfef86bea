# SPDX-License-Identifier: Apache-2.0
"""Sentences for people who create something that will probably not do what they want."""

from __future__ import annotations

from typing import Any

import pytest

from springtide.local.kinds.other_groups import STRATEGIES

TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "A"}, {"name": "A"}]}]}}
NAME = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is "
    "recommended: [must not contain dots]"
)


def warnings(group: str, kind: str, obj: dict[str, Any]) -> list[str]:
    return STRATEGIES[group, kind].warnings(obj)


@pytest.mark.parametrize(("group", "kind"), [("apps", "Deployment"), ("apps", "ReplicaSet"), ("batch", "Job")])
def test_a_workload_whose_name_is_no_host_name_is_warned_of_when_created(group: str, kind: str) -> None:
    spec = {"template": {}, "completionMode": "NonIndexed", "parallelism": 1}
    assert warnings(group, kind, {"metadata": {"name": "a.b"}, "spec": spec}) == [NAME]
    assert warnings(group, kind, {"metadata": {"name": "a.b", "resourceVersion": "1"}, "spec": spec}) == []
    assert warnings(group, kind, {"metadata": {"name": "a-b"}, "spec": spec}) == []


def test_a_template_is_looked_at_like_a_pod() -> None:
    (sentence,) = warnings("apps", "Deployment", {"metadata": {"name": "d"}, "spec": {"template": TEMPLATE}})
    assert sentence.startswith("spec.template.spec.containers[0].env[1]")


def test_an_indexed_job_too_big_to_be_tracked_is_warned_of() -> None:
    spec = {"template": {}, "completionMode": "Indexed", "completions": 200_000, "parallelism": 20_000}
    (sentence,) = warnings("batch", "Job", {"metadata": {"name": "d"}, "spec": spec})
    assert sentence.startswith("spec: In Indexed Jobs with a number of completions higher than 10^5")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}]}, []),
        ({"addressType": "FQDN"}, ["spec.addressType: FQDN endpoints are deprecated"]),
        (
            {"addressType": "IPv6", "endpoints": [{"addresses": ["2001:DB8::1"]}]},
            [
                'endpoints[0].addresses[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format '
                '("2001:db8::1")'
            ],
        ),
    ],
)
def test_addresses_nobody_should_write_are_warned_of(content: dict[str, Any], expected: list[str]) -> None:
    assert warnings("discovery.k8s.io", "EndpointSlice", {"metadata": {"name": "s"}, **content}) == expected
