# SPDX-License-Identifier: Apache-2.0
"""namespaces/finalize: the only request that changes a namespace's spec.finalizers."""

from __future__ import annotations

from springtide.local.apiserver.context import Call, Context
from springtide.local.apiserver.encoding import bodies
from springtide.local.apiserver.encoding.present import present
from springtide.local.apiserver.replies import Answer
from springtide.local.apiserver.verbs.options import write_options
from springtide.local.apiserver.writing import writes
from springtide.local.kinds.strategy import Obj


async def finalize(ctx: Context, call: Call) -> Answer:
    options = write_options(call.request, "UpdateOptions")
    wanted = bodies.read_object(call, options.field_validation)

    writes.check_name(call, wanted["metadata"])

    def change(stored: Obj) -> Obj:
        finalizers = (wanted.get("spec") or {}).get("finalizers") or []
        stored["spec"] = {"finalizers": finalizers} if finalizers else {}
        if version := wanted["metadata"].get("resourceVersion"):
            stored["metadata"]["resourceVersion"] = version
        return stored

    outcome = await writes.replace(ctx, call, change, options, raw=True)
    return await present(ctx, call, outcome.record)
