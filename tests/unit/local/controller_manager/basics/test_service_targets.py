# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from tests.unit.local.controller_manager.basics.service_objects import CREATED, HTTP, a_pod, a_service

from springtide.kube.resources import Key, Obj
from springtide.local.controller_manager.network.service_targets import (
    TriggerTimes,
    hostname,
    services_for,
    target_port,
    targets,
)

SIDECAR = {"name": "s", "restartPolicy": "Always", "ports": [{"name": "side", "containerPort": 9}]}
SETUP = {"name": "s", "ports": [{"name": "side", "containerPort": 9}]}


@pytest.mark.parametrize(
    ("port", "spec", "expected"),
    [
        pytest.param({"port": 80}, {}, 80, id="no target is the port itself"),
        pytest.param({"port": 80, "targetPort": 8080}, {}, 8080, id="a number"),
        pytest.param(HTTP, {}, 8080, id="a name"),
        pytest.param({"port": 80, "targetPort": "nobody"}, {}, None, id="a name that no container has"),
        pytest.param({**HTTP, "protocol": "UDP"}, {}, None, id="a name of another protocol"),
        pytest.param({"port": 1, "targetPort": "side"}, {"initContainers": [SIDECAR]}, 9, id="a sidecar's"),
        pytest.param({"port": 1, "targetPort": "side"}, {"initContainers": [SETUP]}, None, id="no init container's"),
    ],
)
def test_a_target_port_is_found(port: Obj, spec: Obj, expected: int | None) -> None:
    assert target_port(a_pod(1, spec=spec), port) == expected


@pytest.mark.parametrize(
    ("changes", "terminating", "expected"),
    [
        pytest.param({}, False, True, id="running"),
        pytest.param({"phase": "Succeeded"}, True, False, id="finished"),
        pytest.param({"podIPs": []}, True, False, id="without an address"),
        pytest.param({"deleted": True}, False, False, id="terminating where those are unwanted"),
        pytest.param({"deleted": True}, True, True, id="terminating where those are wanted"),
    ],
)
def test_pods_stand_behind_a_service_only_while(changes: dict[str, Any], terminating: bool, expected: bool) -> None:
    assert bool(targets(a_service(HTTP), [a_pod(1, **changes)], terminating=terminating)) == expected


def test_a_pod_concerns_the_services_that_select_it() -> None:
    services = [
        a_service(HTTP),
        a_service(HTTP, name="other", selector={"app": "other"}),
        a_service(HTTP, name="manual", selector=None),
        a_service(HTTP, name="elsewhere", type="ExternalName"),
    ]
    assert services_for(services, a_pod(1)) == [Key("ns", "web")]
    assert services_for(services, a_pod(1, podIPs=[])) == []


@pytest.mark.parametrize(("subdomain", "expected"), [("web", "h"), ("other", ""), ("", "")])
def test_a_hostname_belongs_to_the_service_of_its_subdomain(subdomain: str, expected: str) -> None:
    assert hostname(a_pod(1, spec={"hostname": "h", "subdomain": subdomain}), a_service()) == expected


def test_the_trigger_time_is_the_earliest_new_change() -> None:
    times, service = TriggerTimes(), a_service(HTTP)
    early, late = "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"
    assert times.next(service, [a_pod(1, since=early)]) == CREATED
    assert times.next(service, [a_pod(1, since=early)]) == ""
    assert times.next(service, [a_pod(1, since=late), a_pod(2, since=early)]) == early
    times.forget(Key.of(service))
    assert times.next(service, []) == CREATED
