# SPDX-License-Identifier: Apache-2.0
"""Jobs as `submit` renders them: API servers take every field; Arena's own binary lists, gets and deletes them."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any, Final

import pytest
from tests import arena
from tests.conformance.programs import tool
from tests.integration.controllers.conftest import ORACLE
from tests.integration.controllers.scaled import FAST, TRAININGJOBS, ScaledJob, moving
from tests.integration.controllers.world import World
from tests.unit.manifests import flags

from springtide.kube.resources import CONFIGMAPS, Obj, Resource
from springtide.manifests.bookkeeping import owner_reference
from springtide.manifests.last_applied import with_last_applied
from springtide.manifests.rendering import kept_beside, render
from springtide.manifests.submissions.submission import DeepSpeedJob, EtJob, MpiJob, PyTorchJob, Submission, TfJob, User

pytestmark = pytest.mark.asyncio(loop_scope="session")

TYPES: Final = (EtJob, DeepSpeedJob, MpiJob, PyTorchJob, TfJob)
COMMAND: Final = "horovodrun -np 3 --min-np 1 --host-discovery-script /etc/edl/discover_hosts.sh train"


async def create(world: World, obj: Obj, **query: str) -> Obj:
    metadata = {**obj["metadata"], "namespace": world.namespace}
    return await world.client.create(_resource(obj), {**obj, "metadata": metadata}, query=query)


def _resource(obj: Obj) -> Resource:
    group, _, version = obj["apiVersion"].rpartition("/")
    return Resource(group, version, f"{obj['kind'].lower()}s", obj["kind"])


@pytest.mark.parametrize("type_", TYPES)
async def test_the_api_server_takes_every_field(world: World, type_: type[Any]) -> None:
    for asked in flags.submissions(type_).values():
        objects = render(asked)
        for each in (kept_beside(asked, objects), *objects):
            await create(world, with_last_applied(each), dryRun="All", fieldValidation="Strict")


@pytest.mark.timeout(900)  # it is built once
@pytest.mark.skipif(not ORACLE, reason="needs a kube-apiserver: make test-oracle")
async def test_arenas_own_binary_lists_gets_and_deletes_a_job(operated: World, tmp_path: Path) -> None:
    built = await asyncio.to_thread(arena.built)
    program = arena.Arena(built, tmp_path, tool("kubectl"), operated.server.kubeconfig, operated.namespace)

    async def run(*words: str) -> str:
        return await asyncio.to_thread(program, *words)

    async with moving(operated):
        asked = document(operated.namespace)
        await submit(operated, asked)
        await ScaledJob(operated, asked.name).until(TRAININGJOBS, asked.name, "Running")
        assert re.search(rf"^{asked.name} +RUNNING +ETJOB .* 3 ", await run("list"), re.MULTILINE)
        shown = await run("get", asked.name)
        assert re.search(rf"{asked.name}-launcher +Running .* true ", shown)
        assert await run("scaleout", "etjob", f"--name={asked.name}", "--count=6", "--timeout=10m")
        await run("delete", asked.name)
        assert await operated.find(TRAININGJOBS, asked.name) is None
        assert await operated.find(CONFIGMAPS, f"{asked.name}-etjob") is None


def document(namespace: str) -> EtJob:
    return EtJob(
        name=arena.NAME,
        namespace=namespace,
        command=COMMAND,
        user=User(name="me", id="1"),
        image=arena.IMAGE,
        gpus=1,
        workers=3,
        max_workers=9,
        annotations=FAST,
    )


async def submit(world: World, asked: Submission) -> None:
    objects = render(asked)
    kept = await create(world, kept_beside(asked, objects))
    for each in objects:
        created = await create(world, with_last_applied(each))
    kept["metadata"]["ownerReferences"] = [owner_reference(created)]
    await world.client.replace(CONFIGMAPS, kept)
