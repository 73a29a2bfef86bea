# SPDX-License-Identifier: Apache-2.0
"""Somebody else's controller resizes jobs through their scale subresource."""

from __future__ import annotations

import pytest
from tests.integration.controllers.background import meanwhile
from tests.integration.controllers.world import ELASTIC, NAME, V1, V2, World, job

from springtide.kube.controller import run
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.resources import HORIZONTALPODAUTOSCALERS
from springtide.local.controller_manager.autoscaling import autoscalers

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("version", [V1, V2])
async def test_an_autoscaler_resizes_a_job(operated: World, version: str) -> None:
    await operated.running(job(version, command=ELASTIC))
    reference = {"apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "name": NAME}
    scaler = HORIZONTALPODAUTOSCALERS.describe(operated.key(NAME))
    scaler["spec"] = {"scaleTargetRef": reference, "minReplicas": 3, "maxReplicas": 4}
    informers, recorder = Informers(operated.client), EventRecorder(operated.client, autoscalers.COMPONENT)
    controller = autoscalers.controller(informers, operated.client, recorder)
    async with meanwhile(run(informers, [controller])):
        await operated.client.create(HORIZONTALPODAUTOSCALERS, scaler)
        await operated.workers_run(3)
        await operated.until_listed(0, 1, 2)
        found = await operated.get(HORIZONTALPODAUTOSCALERS, NAME)
    await operated.delete(HORIZONTALPODAUTOSCALERS, NAME)
    assert found["status"]["desiredReplicas"] == 3
    assert (await operated.until_state("Running"))["workers"] == "3/3"
