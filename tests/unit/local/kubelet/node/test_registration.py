# SPDX-License-Identifier: Apache-2.0
"""What a node says of itself."""

from __future__ import annotations

from typing import Any

from springtide.kube.resources import Obj
from springtide.local.kubelet.node import registration
from springtide.local.kubelet.node.machine import Machine
from springtide.local.kubelet.status.moments import stamp

NOW = 1_000_000.0
MACHINE = Machine(
    cpus=4,
    memory=8 << 30,
    disk=100 << 30,
    kernel="6.1.0",
    os_image="Debian GNU/Linux 12 (bookworm)",
    operating_system="linux",
    architecture="amd64",
    machine_id="m",
    boot_id="b",
)


def a_node(capacity: str = "", index: str = "3", **fields: Any) -> Obj:
    annotations = {"springtide.dev/node-index": index} | ({"springtide.dev/capacity": capacity} if capacity else {})
    return {"metadata": {"name": "gpu-a", "uid": "u", "annotations": annotations}, **fields}


def test_a_node_without_a_capacity_of_its_own_has_what_the_machine_has() -> None:
    found = registration.capacity_of(a_node(), MACHINE, {"nvidia.com/gpu": "2"})
    assert found == {
        "cpu": "4",
        "memory": "8388608Ki",
        "ephemeral-storage": "104857600Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "pods": "250",
        "nvidia.com/gpu": "2",
    }


def test_what_the_user_asked_for_goes_before_everything() -> None:
    node = a_node('{"cpu":"8","nvidia.com/gpu":"4"}')
    found = registration.capacity_of(node, MACHINE, {"nvidia.com/gpu": "2"})
    assert (found["cpu"], found["nvidia.com/gpu"], found["memory"]) == ("8", "4", "8388608Ki")


def test_a_capacity_that_makes_no_sense_counts_as_none() -> None:
    assert registration.asked_of(a_node("eight")) == {}
    assert registration.asked_of(a_node("[1]")) == {}


def test_a_node_has_a_number_once_the_supervisor_gave_it_one() -> None:
    assert registration.index_of(a_node()) == 3
    assert registration.index_of(a_node(index="")) is None
    assert registration.index_of({"metadata": {"name": "n"}}) is None


def test_the_status_of_a_healthy_node() -> None:
    status = registration.status(a_node(), MACHINE, {"cpu": "4"}, 10250, NOW)
    assert status["capacity"] == status["allocatable"] == {"cpu": "4"}
    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 10250}}
    assert {"type": "Hostname", "address": "gpu-a"} in status["addresses"]
    assert status["conditions"][-1] == {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
        "lastHeartbeatTime": stamp(NOW),
        "lastTransitionTime": stamp(NOW),
    }
    pressures = [one for one in status["conditions"] if one["type"] != "Ready"]
    assert [one["type"] for one in pressures] == ["MemoryPressure", "DiskPressure", "PIDPressure"]
    assert {one["status"] for one in pressures} == {"False"}


def test_a_condition_that_stays_keeps_its_time_and_one_that_comes_back_does_not() -> None:
    before = [
        {"type": "Ready", "status": "Unknown", "lastTransitionTime": stamp(1)},
        {"type": "DiskPressure", "status": "False", "lastTransitionTime": stamp(2)},
    ]
    status = registration.status(a_node(status={"conditions": before}), MACHINE, {}, 1, NOW)
    times = {one["type"]: one["lastTransitionTime"] for one in status["conditions"]}
    assert (times["Ready"], times["DiskPressure"]) == (stamp(NOW), stamp(2))


def test_the_lease_belongs_to_the_node() -> None:
    lease = registration.lease(a_node(), NOW)
    assert lease["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "Node", "name": "gpu-a", "uid": "u"}]
    assert lease["spec"] == {
        "holderIdentity": "gpu-a",
        "leaseDurationSeconds": 40,
        "renewTime": "1970-01-12T13:46:40.000000Z",
    }


def test_a_node_is_reported_anew_when_it_was_made_anew_or_given_another_capacity() -> None:
    assert registration.word_of(a_node()) == registration.word_of(a_node(status={"x": 1}))
    assert registration.word_of(a_node()) != registration.word_of(a_node('{"cpu":"1"}'))
