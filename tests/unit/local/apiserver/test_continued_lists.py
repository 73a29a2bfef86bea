# SPDX-License-Identifier: Apache-2.0
"""Continue tokens are the client's to keep, and so anybody's to write."""

from __future__ import annotations

import base64
import json
from typing import cast

import pytest
from tests.unit.local.apiserver.builders import a_call, a_resource, put, registry

from springtide.local.access.attributes import Authorizer
from springtide.local.apiserver.context import Admission, Context
from springtide.local.apiserver.verbs.read import list_collection
from springtide.local.status import StatusError
from springtide.local.store.opening import open_store

MAPS = a_resource("configmaps")


@pytest.mark.parametrize(("revision", "code"), [(10**9, 504), (2**62, 504), (-1, 410), (2**80, 504)])
async def test_a_forged_revision_is_refused(revision: int, code: int) -> None:
    store = await open_store(None)
    await put(store, MAPS, "a", "ns")
    token = (
        base64.urlsafe_b64encode(json.dumps({"revision": revision, "after": ["", ""]}).encode()).decode().rstrip("=")
    )
    ctx = Context(store, registry(), cast(Authorizer, None), cast(Admission, None))
    with pytest.raises(StatusError) as refused:
        await list_collection(ctx, a_call(MAPS, f"limit=1&continue={token}", "ns"))
    assert refused.value.code == code
