# SPDX-License-Identifier: Apache-2.0
"""PUT of a whole object or of one of its subresources."""

from __future__ import annotations

from copy import deepcopy

from springtide.event_loop.long_work import in_thread
from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.encoding import bodies
from springtide.local.apiserver.encoding.present import present
from springtide.local.apiserver.replies import Answer
from springtide.local.apiserver.verbs.options import write_options
from springtide.local.apiserver.writing import writes


async def update(ctx: Context, call: Call) -> Answer:
    options = write_options(call.request, "UpdateOptions")
    checked = options.field_validation
    obj = await in_thread(bodies.read_object, call, checked) if call.is_heavy() else bodies.read_object(call, checked)
    writes.check_name(call, obj["metadata"])  # before the object is looked up
    create = call.resource.create_on_update and not call.target.subresource
    outcome = await writes.replace(ctx, call, lambda _: deepcopy(obj), options, missing=obj if create else None)
    return await present(ctx, call, outcome.record, 201 if outcome.created else 200)
