# SPDX-License-Identifier: Apache-2.0
"""Pods as controllers see them."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from tests.unit.local.controller_manager.workloads.builders import NOW, a_pod

from springtide.kube.resources import JOBS, REPLICASETS, Key
from springtide.local.controller_manager.views import Annotations, PodView, Port, managed_by

POD = b"""{
  "kind": "Pod", "apiVersion": "v1",
  "metadata": {
    "name": "web-1-abcde", "namespace": "shop", "uid": "u", "resourceVersion": "12", "labels": {"app": "web"},
    "annotations": {"controller.kubernetes.io/pod-deletion-cost": "5", "other": "x"},
    "creationTimestamp": "2026-03-01T12:00:00Z", "finalizers": ["batch.kubernetes.io/job-tracking"],
    "ownerReferences": [
      {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "o", "controller": true}
    ]
  },
  "spec": {
    "nodeName": "a", "hostname": "h", "subdomain": "s",
    "containers": [
      {"name": "c", "image": "i", "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
       "resources": {"requests": {"cpu": "500m"}}}
    ],
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "big"}}, {"name": "tmp", "emptyDir": {}}]
  },
  "status": {
    "phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "hostIP": "127.0.0.1",
    "startTime": "2026-03-01T12:00:01Z",
    "conditions": [
      {"type": "Ready", "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-03-01T12:00:02Z"}
    ],
    "containerStatuses": [{"name": "c", "ready": true, "restartCount": 2, "state": {"running": {"startedAt": "x"}}}]
  }
}"""


def test_the_fields_that_controllers_read_are_kept() -> None:
    pod = msgspec.json.decode(POD, type=PodView)
    assert pod.key == Key("shop", "web-1-abcde")
    assert pod.metadata.annotations == Annotations(deletion_cost="5")
    assert pod.metadata.creation_timestamp == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert pod.spec.containers[0].ports == (Port(80, "http"),)
    assert pod.spec.containers[0].resources.requests == {"cpu": "500m"}
    claims = [volume.persistent_volume_claim for volume in pod.spec.volumes]
    assert [claim and claim.claim_name for claim in claims] == ["big", None]
    assert (pod.status.pod_ip, pod.status.pod_ips[0].ip, pod.status.host_ip) == ("10.0.0.1", "10.0.0.1", "127.0.0.1")
    assert pod.status.container_statuses[0].restart_count == 2
    assert pod.ready
    assert managed_by(REPLICASETS)(pod) == [Key("shop", "web-1")]
    assert managed_by(JOBS)(pod) == []


@pytest.mark.parametrize(
    ("pod", "active", "terminating"),
    [
        (a_pod(), True, False),
        (a_pod(phase="Succeeded"), False, False),
        (a_pod(phase="Failed"), False, False),
        (a_pod(deleting=True), False, True),
        (a_pod(phase="Failed", deleting=True), False, False),
    ],
)
def test_active_and_terminating(pod: PodView, active: bool, terminating: bool) -> None:
    assert (pod.active, pod.terminating) == (active, terminating)


@pytest.mark.parametrize(("ready_for", "seconds", "available"), [(0, 0, True), (10, 30, False), (30, 30, True)])
def test_available_means_ready_for_long_enough(ready_for: float, seconds: int, available: bool) -> None:
    assert a_pod(ready=True, ready_for=ready_for).available(seconds, NOW) is available
    assert not a_pod().available(seconds, NOW)
