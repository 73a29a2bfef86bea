# SPDX-License-Identifier: Apache-2.0
"""The webhook's responses: an AdmissionReview in, an AdmissionReview out. Pure except for one request.

The request is for `scale`, which contains a number and not the job: the job is read, its size changed, and the change
validated as if it had been made in the job itself. If there is no such job any more the change is allowed: there is
nothing to protect, and the API server's own error is better.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, NamedTuple

import msgspec

from springtide.api.field_errors import FieldError
from springtide.api.kinds.resource import Resource as Definition
from springtide.api.kinds.resource import Scale
from springtide.api.validation import updates
from springtide.api.validation.updates import Judge, Verdict
from springtide.jobs.reporting import waiting_times
from springtide.kube.resources import Key, Obj, Resource

Find = Callable[[Resource, Key], Awaitable[Obj | None]]
Cautions = Callable[[Mapping[str, Any], Mapping[str, Any] | None], Sequence[str]]
"""Warnings about a valid job, and the valid one it was before."""
SizeErrors = Callable[[Mapping[str, Any], Mapping[str, Any]], Sequence[FieldError]]
"""Why a valid job may not get the size that it has and that the valid one before did not have."""


Frozen = Callable[[Obj, Obj], Sequence[FieldError]]
"""Errors for a change, from the first object to the second, of what can no longer change."""


Resizes = Callable[[Obj, Obj], Sequence[str]]
"""Warnings about a change of the size by the object itself, not by `scale`, from the first object to the second."""


def _nothing(new: Mapping[str, Any], old: Mapping[str, Any] | None) -> Sequence[Any]:
    return ()


class Judging(NamedTuple):
    """The validation of objects of one kind: jobs or scalers."""

    definition: Definition
    judge: Judge
    cautions: Cautions = _nothing
    size_errors: SizeErrors = _nothing
    frozen: Frozen = _nothing
    resizes: Resizes = _nothing


Judges = Mapping[str, Judging]
"""By plural names."""

_KIND: Final = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
_WARNING_LENGTH: Final = 250  # kube-apiserver cuts longer ones off


class NoReview(Exception):
    """The body is not a valid AdmissionReview."""


class _Type(msgspec.Struct):
    version: str
    resource: str


class _Request(msgspec.Struct, rename="camel"):
    uid: str
    resource: _Type
    operation: str
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None


class _Review(msgspec.Struct):
    request: _Request


async def answered(body: bytes, judges: Judges, find: Find) -> bytes:
    try:
        request = msgspec.json.decode(body, type=_Review).request
    except (msgspec.DecodeError, RecursionError) as error:
        raise NoReview(f"no AdmissionReview of admission.k8s.io/v1: {error}") from None
    asked = judges.get(request.resource.resource)
    if asked is None:
        return _answer(request, {"allowed": True})
    verdict, cautions = await _verdict(request, asked, find)
    return _answer(request, _response(request, asked.definition, verdict, cautions))


async def _verdict(request: _Request, asked: Judging, find: Find) -> tuple[Verdict, Sequence[str]]:
    definition, judge, cautions, size_errors, frozen, resizes = asked
    new, old = request.object or {}, request.old_object or {}
    if request.operation == "CREATE":
        errors = judge(new)
        return Verdict(errors), () if errors else cautions(new, None)
    if request.sub_resource == "scale" and definition.scale is not None:
        resource = Resource(definition.group, request.resource.version, definition.plural, definition.kind)
        job = await find(resource, Key(request.namespace, request.name))
        if job is None:
            return Verdict(), ()
        old, new = job, _resized(job, definition.scale, (new.get("spec") or {}).get("replicas", 0))
    if errors := frozen(old, new):
        return Verdict(errors), ()
    verdict = updates.judged(judge, old, new)
    changes = old.get("spec") != new.get("spec") and not (new.get("metadata") or {}).get("deletionTimestamp")
    if not changes or judge(old) or judge(new):
        return verdict, ()
    resized = () if request.sub_resource else resizes(old, new)
    return Verdict([*verdict.errors, *size_errors(new, old)]), [*resized, *cautions(new, old)]


def _resized(job: Obj, scale: Scale, replicas: int) -> Obj:
    resized = deepcopy(job)
    *outer, last = scale.spec_replicas.strip(".").split(".")
    place = resized
    for name in outer:
        place = place.setdefault(name, {})
    place[last] = replicas
    return resized


def _response(request: _Request, definition: Definition, verdict: Verdict, cautions: Sequence[str]) -> Obj:
    if verdict.errors:
        return {"allowed": False, "status": _refusal(request, definition, verdict.errors)}
    warnings = [*(f"still {error}" for error in verdict.former), *cautions, *_complaints(request)]
    return {"allowed": True} | ({"warnings": [each[:_WARNING_LENGTH] for each in warnings]} if warnings else {})


def _complaints(request: _Request) -> list[str]:
    if request.sub_resource:
        return []
    new, old = (((obj or {}).get("metadata") or {}).get("annotations") for obj in (request.object, request.old_object))
    return waiting_times.complaints(new or {}, old or {})


def _refusal(request: _Request, definition: Definition, errors: Sequence[FieldError]) -> Obj:
    """In the form of the API server's own schema errors, so that kubectl shows it, and reopens its editor, in the same
    way."""
    texts = [str(error) for error in errors]
    said = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return {
        "code": 422,
        "reason": "Invalid",
        "message": f'{definition.kind}.{definition.group} "{request.name}" is invalid: {said}',
        "details": {
            "name": request.name,
            "group": definition.group,
            "kind": definition.kind,
            "causes": [{"reason": error.reason, "field": error.field, "message": error.message} for error in errors],
        },
    }


def _answer(request: _Request, response: Obj) -> bytes:
    return msgspec.json.encode(_KIND | {"response": {"uid": request.uid, **response}})
