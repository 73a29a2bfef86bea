# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.unit.local.controller_manager.basics.service_objects import HTTP, a_pod, a_service, reference

from springtide.kube.resources import Obj
from springtide.local.controller_manager.network.slice_packing import Plan, endpoints_of, plan
from springtide.local.controller_manager.views import PodView

SERVICE = a_service(HTTP, labels={"tier": "front", "kubernetes.io/service-name": "forged"})
ZONES = {"n1": "z1"}


def decide(pods: Iterable[PodView], present: list[Obj], service: Obj = SERVICE) -> Plan:
    return plan(service, endpoints_of(service, list(pods), ZONES), present)


def made(pods: Iterable[PodView], service: Obj = SERVICE) -> list[Obj]:
    """The slices of a service that had none, as the server gives them back."""
    slices = decide(pods, [], service).create
    for number, one in enumerate(slices):
        one["metadata"] |= {"resourceVersion": "1", "uid": f"slice-{number}"}
    return slices


def sizes(slices: Iterable[Obj]) -> list[int]:
    return [len(one["endpoints"]) for one in slices]


def test_a_new_slice_describes_the_pod() -> None:
    (only,) = made([a_pod(1)])
    assert only["endpoints"] == [
        {
            "addresses": ["10.1.0.1"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "nodeName": "n1",
            "targetRef": reference(1),
            "zone": "z1",
        }
    ]
    assert only["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert only["addressType"] == "IPv4"
    assert only["metadata"]["labels"] == {
        "tier": "front",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    assert only["metadata"]["ownerReferences"][0]["uid"] == "uid-web"
    assert only["metadata"]["name"].startswith(only["metadata"]["generateName"])


@pytest.mark.parametrize(
    ("pod", "publish", "expected"),
    [
        pytest.param(a_pod(1), False, (True, True, False), id="ready"),
        pytest.param(a_pod(1, ready=False), False, (False, False, False), id="not ready"),
        pytest.param(a_pod(1, ready=False), True, (True, False, False), id="not ready but published"),
        pytest.param(a_pod(1, deleted=True), False, (False, True, True), id="terminating but serving"),
        pytest.param(a_pod(1, deleted=True), True, (True, True, True), id="terminating but published"),
    ],
)
def test_conditions(pod: PodView, publish: bool, expected: tuple[bool, bool, bool]) -> None:
    (endpoint,) = endpoints_of(a_service(HTTP, publishNotReadyAddresses=publish), [pod], ZONES)
    assert tuple(endpoint.body["conditions"].values()) == expected


@pytest.mark.parametrize(("publish", "count"), [(False, 0), (True, 1)])
def test_a_pod_on_an_unknown_node_is_shown_only_if_all_are(publish: bool, count: int) -> None:
    service = a_service(HTTP, publishNotReadyAddresses=publish)
    assert len(list(endpoints_of(service, [a_pod(1)], {}))) == count


def test_nobody_is_an_empty_slice_that_stays() -> None:
    present = made([])
    assert sizes(present) == [0]
    assert decide([], present) == Plan()


def test_nothing_is_written_when_nothing_differs() -> None:
    pods = [a_pod(n) for n in range(250)]
    present = made(pods)
    assert sizes(present) == [100, 100, 50]
    assert len({one["metadata"]["name"] for one in present}) == 3
    assert decide(reversed(pods), present) == Plan()


def test_a_change_of_one_pod_rewrites_one_slice() -> None:
    pods = [a_pod(n) for n in range(250)]
    present = made(pods)
    pods[7] = a_pod(7, ready=False)
    decided = decide(pods, present)
    assert (len(decided.create), len(decided.update), len(decided.delete)) == (0, 1, 0)
    assert decided.update[0]["metadata"]["resourceVersion"] == "1"


def test_new_pods_fill_the_fullest_slice_with_room() -> None:
    present = made(a_pod(n) for n in range(150))
    decided = decide((a_pod(n) for n in range(190)), present)
    assert sizes(decided.update) == [90]
    assert not decided.create


def test_new_pods_go_where_is_written_anyway() -> None:
    present = made(a_pod(n) for n in range(150))
    gone = {endpoint["targetRef"]["name"] for endpoint in present[0]["endpoints"][:10]}
    pods = [pod for n in range(155) if (pod := a_pod(n)).metadata.name not in gone]
    decided = decide(pods, present)
    assert sizes(decided.update) == [95]


def test_pods_with_other_ports_get_slices_of_their_own() -> None:
    assert sorted(port["port"] for one in made([a_pod(1), a_pod(2, port=81)]) for port in one["ports"]) == [81, 8080]


def test_an_empty_slice_is_reused_for_the_first_pod_and_again_for_none() -> None:
    (place,) = made([])
    decided = decide([a_pod(1)], [place])
    assert (decided.create, decided.delete) == ([], [])
    (filled,) = decided.update
    assert filled["metadata"]["name"] == place["metadata"]["name"]
    (emptied,) = decide([], [filled]).update
    assert (emptied["endpoints"], emptied["ports"]) == ([], [])


def test_slices_of_an_earlier_service_of_the_same_name_go() -> None:
    present = made([a_pod(1)])
    again = a_service(HTTP)
    again["metadata"]["uid"] = "another"
    decided = decide([a_pod(1)], present, again)
    assert decided.delete == present
    assert decided.create[0]["metadata"]["name"] != present[0]["metadata"]["name"]


def test_a_service_on_its_way_out_gets_no_new_slices() -> None:
    leaving = a_service(HTTP)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert decide([a_pod(1)], [], leaving) == Plan()


def test_names_are_the_same_again_when_the_cache_is_behind() -> None:
    first, second = made([a_pod(1)]), made([a_pod(1), a_pod(2)])
    assert first[0]["metadata"]["name"] == second[0]["metadata"]["name"]


def test_pods_on_loopback_are_in_no_slice() -> None:
    (placeholder,) = made([a_pod(1, podIPs=[{"ip": "127.1.0.1"}])])
    assert not placeholder["endpoints"]
