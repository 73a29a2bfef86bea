# SPDX-License-Identifier: Apache-2.0
"""POST to a collection."""

from __future__ import annotations

from springtide.event_loop.long_work import in_thread
from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.encoding import bodies
from springtide.local.apiserver.encoding.present import present
from springtide.local.apiserver.replies import Answer
from springtide.local.apiserver.verbs.options import write_options
from springtide.local.apiserver.writing import writes


async def create(ctx: Context, call: Call) -> Answer:
    options = write_options(call.request, "CreateOptions")
    heavy, checked = call.is_heavy(), options.field_validation
    obj = await in_thread(bodies.read_object, call, checked) if heavy else bodies.read_object(call, checked)
    outcome = await writes.create(ctx, call, obj, options, heavy)
    return await present(ctx, call, outcome.record, 201)
