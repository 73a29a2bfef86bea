# SPDX-License-Identifier: Apache-2.0
"""Whether a cluster is an embedded one, on whatever machine."""

from __future__ import annotations

from typing import Final

from springtide.kube.client import Client
from springtide.kube.request import JSON, Request

_OURS: Final = "+springtide."


async def is_embedded(client: Client) -> bool:
    answer = await client.document(Request("GET", "/version", headers={"Accept": JSON}))
    return _OURS in str(answer.get("gitVersion", ""))
