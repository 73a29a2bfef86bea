# SPDX-License-Identifier: Apache-2.0
"""A Deployment under load is grown by a HorizontalPodAutoscaler, from what its node measures."""

from __future__ import annotations

import pytest
from tests.programs.conftest import Start

pytestmark = pytest.mark.timeout(300)


def test_a_deployment_under_load_grows_to_its_limit(started: Start) -> None:
    cluster = started()
    cluster.apply("load.yaml")
    cluster.until_ready("app=load", 3)
    cluster.until(lambda: "load" in cluster.kubectl.run("top", "pods").stdout, "kubectl top to show it")
    autoscaler = cluster.get("hpa", "load")["status"]
    assert autoscaler["desiredReplicas"] == 3
    conditions = {condition["type"]: condition for condition in autoscaler["conditions"]}
    assert conditions["ScalingActive"]["status"] == "True"
    reasons = {event["reason"] for event in cluster.get("events")["items"]}
    assert "SuccessfulRescale" in reasons
