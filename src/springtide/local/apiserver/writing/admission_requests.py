# SPDX-License-Identifier: Apache-2.0
"""The admission request of an API request."""

from __future__ import annotations

from functools import partial

from springtide.local.admission.request import AdmissionRequest, Guise
from springtide.local.apiserver.context import Call
from springtide.local.apiserver.registry import scales
from springtide.local.apiserver.verbs.options import WriteOptions
from springtide.local.kinds.strategy import Obj


def admission_request(
    call: Call, operation: str, obj: Obj | None, old: Obj | None, options: WriteOptions
) -> AdmissionRequest:
    resource, target = call.resource, call.target
    return AdmissionRequest(
        operation,
        resource.plural,
        resource.kind,
        call.request.user,
        resource.group,
        resource.version,
        target.subresource,
        target.namespace,
        target.name or ((obj or {}).get("metadata") or {}).get("name", ""),
        obj,
        old,
        options.dry_run,
        guise=_guise(call),
    )


def _guise(call: Call) -> Guise | None:
    if call.target.subresource != scales.SUBRESOURCE:
        return None
    return Guise(scales.GROUP, scales.VERSION, scales.KIND, partial(scales.scale_of, resource=call.resource))
