# SPDX-License-Identifier: Apache-2.0
"""What people do with jobs by kubectl, and what they see."""

from __future__ import annotations

import pytest
from tests.conformance.operator.conftest import Say
from tests.integration.controllers.world import ELASTIC, NAME, V1, V2, World, job

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_columns_say_how_a_job_is(operated: World, say: Say) -> None:
    await operated.running(job(V1, command=ELASTIC))
    await operated.until_state("Running")
    header, row = (await say("get", "mj")).splitlines()
    assert header.split() == ["NAME", "STATE", "WORKERS", "MIN", "MAX", "AGE"]
    assert row.split()[:5] == [NAME, "Running", "2/2", "1", "4"]


@pytest.mark.parametrize("version", [V1, V2])
async def test_scale_patch_and_edit_resize_a_job(operated: World, say: Say, version: str) -> None:
    await operated.running(job(version, command=ELASTIC))
    await say("scale", f"mpijob/{NAME}", "--replicas=3")
    await operated.workers_run(3)
    await operated.until_listed(0, 1, 2)
    body = '{"spec":{"mpiReplicaSpecs":{"Worker":{"replicas":4}}}}'
    await say("patch", "mpijob", NAME, "--type=merge", "-p", body)
    await operated.workers_run(4)
    await operated.until_listed(0, 1, 2, 3)
    await say("edit", "mpijob", NAME, KUBE_EDITOR="sed -i 's/replicas: 4/replicas: 1/'")
    await operated.until_listed(0)
    await operated.until_workers(0)


async def test_conditions_can_be_waited_for(operated: World, say: Say) -> None:
    launcher = await operated.running(job(V1))
    assert "condition met" in await say("wait", "--for=condition=Running", f"mpijob/{NAME}", "--timeout=10s")
    await operated.kubelet.succeed(launcher)
    assert "condition met" in await say("wait", "--for=condition=Succeeded", f"mpijob/{NAME}", "--timeout=10s")


async def test_describe_tells_the_story(operated: World, say: Say) -> None:
    await operated.running(job(V1, command=ELASTIC))
    await operated.resize(3)
    await operated.until_event("ScalingOut")
    told = await say("describe", "mpijob", NAME)
    events = told[told.index("Events:") :]
    for reason in ("MPIJobCreated", "MPIJobRunning", "ScalingOut"):
        assert reason in events
    assert "mpi-job-controller" in events
