# SPDX-License-Identifier: Apache-2.0
"""Whether a cluster is an embedded one, on whatever machine."""

from __future__ import annotations

from typing import Final

import msgspec

from springtide.kube.client import Client
from springtide.kube.request import JSON, Request

_OURS: Final = "+springtide."


async def is_embedded(client: Client) -> bool:
    response = await client.raw(Request("GET", "/version", headers={"Accept": JSON}))
    return _OURS in str(msgspec.json.decode(response.body).get("gitVersion", ""))
