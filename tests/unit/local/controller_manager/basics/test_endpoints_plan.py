# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from tests.unit.local.controller_manager.basics.service_objects import CREATED, HTTP, a_pod, a_service, reference

from springtide.kube.resources import Obj
from springtide.local.controller_manager.network.endpoints import plan, subsets_of, truncated
from springtide.local.controller_manager.views import PodView

WEB = {"name": "http", "port": 8080, "protocol": "TCP"}
NUMBERED = {"name": "other", "port": 81, "targetPort": 9000, "protocol": "TCP", "appProtocol": "kubernetes.io/h2c"}


def address(number: int, **more: str) -> Obj:
    return {"ip": f"10.1.0.{number}", "nodeName": "n1", "targetRef": reference(number), **more}


@pytest.mark.parametrize(
    ("service", "pods", "expected"),
    [
        pytest.param(a_service(HTTP), [], [], id="nobody"),
        pytest.param(
            a_service(HTTP),
            [a_pod(2), a_pod(1), a_pod(3, ready=False)],
            [{"addresses": [address(1), address(2)], "notReadyAddresses": [address(3)], "ports": [WEB]}],
            id="ready and not, in order",
        ),
        pytest.param(
            a_service(HTTP, publishNotReadyAddresses=True),
            [a_pod(1, ready=False), a_pod(2, deleted=True)],
            [{"addresses": [address(1), address(2)], "ports": [WEB]}],
            id="all of them when they are to be published",
        ),
        pytest.param(a_service(HTTP), [a_pod(1, deleted=True)], [], id="terminating ones are left out"),
        pytest.param(
            a_service(HTTP, NUMBERED),
            [a_pod(1), a_pod(2, port=8081)],
            [
                {"addresses": [address(1)], "ports": [WEB]},
                {"addresses": [address(2)], "ports": [{**WEB, "port": 8081}]},
                {
                    "addresses": [address(1), address(2)],
                    "ports": [{"name": "other", "port": 9000, "protocol": "TCP", "appProtocol": "kubernetes.io/h2c"}],
                },
            ],
            id="a subset for each set of pods that share ports",
        ),
        pytest.param(
            a_service(clusterIP="None"),
            [a_pod(1, spec={"hostname": "h1", "subdomain": "web"})],
            [{"addresses": [address(1, hostname="h1")]}],
            id="headless without ports, with a hostname",
        ),
        pytest.param(a_service(), [a_pod(1)], [], id="no ports and not headless"),
        pytest.param(
            a_service(HTTP),
            [a_pod(1, podIPs=[{"ip": "127.1.0.1"}])],
            [],
            id="pods on loopback cannot be reached by others",
        ),
    ],
)
def test_subsets(service: Obj, pods: list[PodView], expected: list[Obj]) -> None:
    assert subsets_of(service, pods) == expected


def test_new_endpoints_carry_the_labels_of_the_service_and_its_trigger() -> None:
    wanted = plan(a_service(clusterIP="None", labels={"tier": "front"}), [], None, CREATED)
    assert wanted is not None
    assert wanted["metadata"] == {
        "name": "web",
        "namespace": "ns",
        "labels": {
            "tier": "front",
            "endpoints.kubernetes.io/managed-by": "endpoint-controller",
            "service.kubernetes.io/headless": "",
        },
        "annotations": {"endpoints.kubernetes.io/last-change-trigger-time": CREATED},
    }


def test_nothing_is_written_when_nothing_differs_whatever_the_order() -> None:
    service, pods = a_service(HTTP, NUMBERED), [a_pod(1), a_pod(2, port=8081)]
    present = plan(service, pods, None, CREATED)
    assert present is not None
    shuffled = {**present, "subsets": [{**one, "ports": one["ports"][::-1]} for one in present["subsets"][::-1]]}
    assert plan(service, pods[::-1], shuffled, "") is None


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"metadata": {"name": "web", "namespace": "ns", "labels": {}}}, id="labels"),
        pytest.param({"subsets": None}, id="addresses"),
    ],
)
def test_what_somebody_changed_is_put_right_and_other_annotations_stay(change: dict[str, Any]) -> None:
    service, pods = a_service(HTTP), [a_pod(1)]
    present = plan(service, pods, None, CREATED)
    assert present is not None
    changed = present | change
    changed["metadata"] = {**changed["metadata"], "annotations": {"note": "x"}}
    wanted = plan(service, pods, changed, "")
    assert wanted is not None
    assert wanted["subsets"] == present["subsets"]
    assert wanted["metadata"]["labels"] == present["metadata"]["labels"]
    assert wanted["metadata"]["annotations"] == {"note": "x"}


def test_a_thousand_addresses_are_the_most_and_ready_ones_come_first() -> None:
    subsets = [
        {"notReadyAddresses": [{"ip": str(n)} for n in range(700)], "ports": [WEB]},
        {"addresses": [{"ip": str(n)} for n in range(600)], "ports": [WEB]},
    ]
    kept, cut = truncated(subsets)
    assert cut
    assert (len(kept[0]["notReadyAddresses"]), len(kept[1]["addresses"])) == (400, 600)
    service = a_service(HTTP)
    wanted = plan(service, [a_pod(n) for n in range(1001)], None, "")
    assert wanted is not None
    assert wanted["metadata"]["annotations"] == {"endpoints.kubernetes.io/over-capacity": "truncated"}
    assert plan(service, [a_pod(n) for n in range(1001)], wanted, "") is None
