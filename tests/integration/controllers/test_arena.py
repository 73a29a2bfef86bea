# SPDX-License-Identifier: Apache-2.0
"""Arena's own binary submits the document's job, scales it out and in, and reads it.

On a real kube-apiserver: Arena asks for StatefulSets, too, which the embedded one does not serve.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from tests import arena
from tests.conformance.programs import tool
from tests.integration.controllers.conftest import ORACLE
from tests.integration.controllers.scaled import FAST, SCALE_INS, SCALE_OUTS, TRAININGJOBS, ScaledJob, moving
from tests.integration.controllers.world import World

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(900),  # it is built once
    pytest.mark.skipif(not ORACLE, reason="needs a kube-apiserver: make test-oracle"),
]

CREATED = re.compile(r"\.kai\.alibabacloud\.com/(\S+) created")


async def test_arenas_own_binary_submits_scales_and_reads_a_job(operated: World, tmp_path: Path) -> None:
    built = await asyncio.to_thread(arena.built)
    program = arena.Arena(built, tmp_path, tool("kubectl"), operated.server.kubeconfig, operated.namespace)

    async def run(*words: str) -> str:
        return await asyncio.to_thread(program, *words)

    async def scaled(*words: str) -> str:
        """The name of the scaler that it makes."""
        options = (f"--name={arena.NAME}", "--count=1", "--timeout=10m")
        found = CREATED.search(await run(*words, *options))
        assert found
        return found[1]

    async with moving(operated):
        job = ScaledJob(operated, arena.NAME)
        swift = [f"--annotation={name}={value}" for name, value in FAST.items()]
        await run(
            *arena.SUBMIT,
            *swift,
            "horovodrun -np 3 --min-np 1 --host-discovery-script /etc/edl/discover_hosts.sh train",
        )
        await job.until_listed(0, 1, 2)
        await job.until(TRAININGJOBS, arena.NAME, "Running")
        shown = await run("get", arena.NAME)
        assert "Status:      RUNNING\n" in shown
        assert re.search(rf"{arena.NAME}-launcher +Running .* true ", shown)
        await job.until(SCALE_OUTS, await scaled("scaleout", "etjob"), "ScaleSucceeded")
        assert f"{arena.NAME}-worker-3  Running" in await run("get", arena.NAME)
        await job.until(SCALE_INS, await scaled("scalein", "etjob"), "ScaleSucceeded")
        assert f"{arena.NAME}-worker-3" not in await run("get", arena.NAME)
        assert re.search(rf"^{arena.NAME} +RUNNING +ETJOB ", await run("list"), re.MULTILINE)
        await run("delete", arena.NAME)
        assert await operated.find(TRAININGJOBS, arena.NAME) is None
