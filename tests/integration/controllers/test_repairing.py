# SPDX-License-Identifier: Apache-2.0
"""What somebody else changed about a job's objects, for better or worse."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.crash_jobs import named_jobs
from tests.integration.controllers.world import NAME, V1, V2, World, job

from springtide.kube.resources import JOBS, PODS, ROLES, SECRETS, SERVICES, Obj

pytestmark = pytest.mark.asyncio(loop_scope="session")

LAUNCHER = f"{NAME}-launcher"


async def test_on_resume_the_launcher_goes_where_a_queue_has_said(operated: World) -> None:
    await operated.submit(job(V2, runPolicy={"suspend": True}))
    await operated.until(lambda: operated.find(JOBS, LAUNCHER), lambda found: found is not None)
    placed = {"nodeSelector": {"pool": "a"}, "tolerations": [{"key": "spot", "operator": "Exists"}]}
    template = {"metadata": {"labels": {"queue": "q"}}, "spec": placed}
    await operated.patch({"spec": {"mpiReplicaSpecs": {"Launcher": {"template": template}}}})
    await operated.patch({"spec": {"runPolicy": {"suspend": False}}})
    batch = await operated.until(lambda: operated.get(JOBS, LAUNCHER), lambda found: not found["spec"]["suspend"])
    found = batch["spec"]["template"]
    assert placed.items() <= found["spec"].items()
    assert found["metadata"]["labels"]["queue"] == "q"


async def test_keys_of_other_names_are_made_anew(operated: World) -> None:
    await operated.running(job(V2))
    name = f"{NAME}-ssh"
    before = await operated.get(SECRETS, name)
    await operated.client.patch(SECRETS, operated.key(name), {"data": {"other": "YQ=="}})
    after = await operated.until(
        lambda: operated.find(SECRETS, name),
        lambda found: found is not None and found["metadata"]["uid"] != before["metadata"]["uid"],
    )
    assert after is not None
    assert sorted(after["data"]) == ["ssh-privatekey", "ssh-publickey"]


async def test_a_service_selects_its_pods_and_nothing_less(operated: World) -> None:
    await operated.running(job(V2))
    before = (await operated.get(SERVICES, NAME))["spec"]["selector"]
    await operated.client.patch(SERVICES, operated.key(NAME), {"spec": {"selector": {"app": "other"}}})

    async def selector() -> Obj:
        found: Obj = (await operated.get(SERVICES, NAME))["spec"]["selector"]
        return found

    await operated.until(selector, lambda found: found == before)


async def test_rights_are_put_back(operated: World) -> None:
    await operated.running(job(V1))
    before = (await operated.get(ROLES, LAUNCHER))["rules"]
    await operated.client.patch(ROLES, operated.key(LAUNCHER), {"rules": []})
    await operated.until(lambda: operated.get(ROLES, LAUNCHER), lambda found: found["rules"] == before)


async def test_what_is_right_is_not_written_again(operated: World) -> None:
    """Servers leave out what is false or empty."""
    found = await operated.submit_wanted(named_jobs.rigid(random.Random(0), Path("/shared")))
    await operated.until(lambda: operated.all_of(PODS), lambda pods: len(pods) == 1 + found.size)
    await operated.quiet()
    mark = len(operated.wire.writes)
    for name in await operated.all_of(PODS):
        await operated.kubelet.run(name)
    await operated.quiet()
    assert {write.kind for write in operated.wire.writes[mark:]} == {"pytorchjobs/status"}
