# SPDX-License-Identifier: Apache-2.0
"""Stock kubectl beside an operator, on the embedded and on the real API server, in the operator's own test world."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.conformance.programs import Kubectl, tool
from tests.integration.controllers.conftest import api_server, operated, world
from tests.integration.controllers.world import World

__all__ = ["api_server", "operated", "world"]

Say = Callable[..., Awaitable[str]]


@pytest.fixture(params=["kubectl", "kubectl-old"])
def say(request: pytest.FixtureRequest, operated: World, tmp_path: Path) -> Say:
    """Gives what kubectl printed. In a thread, because the embedded server and the operator live in this process."""
    kubectl = Kubectl(tool(request.param), Path(operated.server.kubeconfig), operated.namespace, tmp_path)

    async def said(*words: str, **more: str) -> str:
        return await asyncio.to_thread(kubectl, *words, **more)

    return said
