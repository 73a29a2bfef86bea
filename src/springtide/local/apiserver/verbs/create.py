# SPDX-License-Identifier: Apache-2.0
"""POST to a collection."""

from __future__ import annotations

from springtide.local.apiserver import bodies, writes
from springtide.local.apiserver.beside import beside
from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.options import write_options
from springtide.local.apiserver.present import present
from springtide.local.apiserver.replies import Answer


async def create(ctx: Context, call: Call) -> Answer:
    options = write_options(call.request, "CreateOptions")
    obj = await beside(call.is_heavy(), lambda: bodies.read_object(call, options.field_validation))
    outcome = await writes.create(ctx, call, obj, options)
    return await present(ctx, call, outcome.record, 201)
