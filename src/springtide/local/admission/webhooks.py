# SPDX-License-Identifier: Apache-2.0
"""ValidatingAdmissionWebhook: external programs that allow or reject a write.

All matching webhooks are called concurrently with an AdmissionReview; a single denial rejects the request.
`webhook_calls` does the calls, `webhook_rules` selects the webhooks.
"""

from __future__ import annotations

import asyncio
import uuid
from base64 import b64decode
from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec

from springtide.api import operators
from springtide.local import status
from springtide.local.admission.request import AdmissionRequest, Obj, Reader
from springtide.local.admission.webhook_calls import Call, CallError, Endpoint
from springtide.local.admission.webhook_rules import VersionsOf, Webhook, compiled, version_to_send

CONFIGURATIONS: Final = "validatingwebhookconfigurations.admissionregistration.k8s.io"
_EXEMPT_GROUP: Final = ".admissionregistration.k8s.io"  # otherwise a broken webhook could not be removed
_SHOWN: Final = 256
_REVIEW: Final = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}


def _new_uid() -> str:
    return str(uuid.uuid4())


class ValidatingWebhooks:
    def __init__(
        self, reader: Reader, call: Call, versions_of: VersionsOf, new_uid: Callable[[], str] = _new_uid
    ) -> None:
        self._reader = reader
        self._call = call
        self._versions_of = versions_of
        self._new_uid = new_uid
        self._compiled: dict[tuple[str, str], tuple[Webhook, ...]] = {}

    def handles(self, operation: str, storage: str, subresource: str) -> bool:
        return not storage.endswith(_EXEMPT_GROUP)

    async def admit(self, request: AdmissionRequest) -> None:
        configurations = self._reader.list(CONFIGURATIONS)
        if not configurations:
            return
        asked = [
            self._ask(hook, version, request)
            for hook in self._hooks(configurations)
            if (version := version_to_send(hook, request, self._reader, self._versions_of)) is not None
        ]
        refusals = [refusal for refusal in await asyncio.gather(*asked) if refusal is not None]
        if refusals:
            raise refusals[0]

    def _hooks(self, configurations: Any) -> list[Webhook]:
        """All webhooks in the order of their configurations' names; each configuration is compiled once."""
        known, current = self._compiled, {}
        for configuration in sorted(configurations, key=lambda each: str(each["metadata"]["name"])):
            meta = configuration["metadata"]
            key = (meta["uid"], meta["resourceVersion"])
            current[key] = known.get(key) or compiled(configuration)
        self._compiled = current
        return [hook for hooks in current.values() for hook in hooks]

    async def _ask(self, hook: Webhook, version: str, request: AdmissionRequest) -> status.StatusError | None:
        if hook.client.get("service") and operators.of_webhook(hook.name) is not None:
            # The stand-in for the operator serves no webhook; calling it would reject every object.
            request.warnings.append(f'admission webhook "{hook.name}" is not called: its operator does not run here')
            return None
        if request.dry_run and hook.has_side_effects:
            return status.bad_request(f'admission webhook "{hook.name}" does not support dry run')
        uid = self._new_uid()
        body = msgspec.json.encode(_review(uid, version, request))
        try:
            answer = await self._call(_endpoint(hook), body, hook.seconds)
            response = _response(answer, uid)
        except CallError as error:
            return None if hook.fails_open else status.internal(f'failed calling webhook "{hook.name}": {error}')
        request.warnings += response.warnings or ()
        return None if response.allowed else denial(hook.name, response.status or Result())


Int32 = Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)]


class Result(msgspec.Struct, frozen=True):
    """The webhook's own status. A field of another type makes the response invalid."""

    code: Int32 | None = 0
    message: str | None = ""
    reason: str | None = ""
    details: dict[str, Any] | None = None


class Response(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    allowed: bool = False
    status: Result | None = None
    warnings: tuple[str, ...] | None = ()
    patch: Any = None
    patch_type: Any = None


class Review(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    api_version: str = ""
    response: Response | None = None


def denial(hook: str, result: Result) -> status.StatusError:
    """The webhook's own status, with its name before the message."""
    denied = f'admission webhook "{hook}" denied the request'
    why = result.message or result.reason
    message = f"{denied}: {why}" if why else f"{denied} without explanation"
    code = min(max(result.code or 0, 400), 599)
    return status.StatusError(code, result.reason or "", message, result.details)


def _review(uid: str, version: str, request: AdmissionRequest) -> Obj:
    resource = {"group": request.group, "version": version, "resource": request.resource}
    asked: Obj = {
        "uid": uid,
        "kind": _kind(request, version),
        "resource": resource,
        "requestKind": _kind(request, request.version),
        "requestResource": {**resource, "version": request.version},
        "name": request.name or ((request.obj or {}).get("metadata") or {}).get("name", ""),
        "namespace": request.namespace,
        "operation": request.operation,
        "userInfo": request.user.as_user_info(),
        "object": _typed(request.obj, request, version),
        "oldObject": _typed(request.old, request, version),
        "dryRun": request.dry_run,
        "options": dict(request.options) or None,
    }
    if request.subresource:
        asked["subResource"] = asked["requestSubResource"] = request.subresource
    if not request.namespace:
        del asked["namespace"]
    return {**_REVIEW, "request": asked}


def _kind(request: AdmissionRequest, version: str) -> Obj:
    if (guise := request.guise) is not None:
        return {"group": guise.group, "version": guise.version, "kind": guise.kind}
    return {"group": request.group, "version": version, "kind": request.kind}


def _typed(obj: Obj | None, request: AdmissionRequest, version: str) -> Obj | None:
    """The object with its kind. Versions of a resource differ only in name, so renaming converts."""
    if obj is None:
        return None
    if request.guise is not None:
        return request.guise.of(obj)
    return {**obj, "kind": request.kind, "apiVersion": f"{request.group}/{version}" if request.group else version}


def _endpoint(hook: Webhook) -> Endpoint:
    bundle = hook.client.get("caBundle") or ""
    ca = b64decode(bundle) if bundle else None
    service = hook.client.get("service")
    if service is None:
        return Endpoint(hook.client.get("url", ""), ca)
    path, port = service.get("path", "").removeprefix("/"), service.get("port") or 443
    url = f"https://{service['name']}.{service['namespace']}.svc:{port}/{path}"
    return Endpoint(url, ca, (service["namespace"], service["name"], port))


def _response(answer: bytes, uid: str) -> Response:
    try:
        review = msgspec.json.decode(answer, type=Review)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = f"failed to call webhook: couldn't get version/kind; json parse error: {error}"
        raise CallError(text) from None
    problem = _problem(review, uid)
    if problem:
        raise CallError(f"received invalid webhook response: {problem}")
    assert review.response is not None
    return review.response


def _problem(review: Review, uid: str) -> str:
    response = review.response
    if response is None:
        return "webhook response was absent"
    if response.uid != uid:
        return f'expected response.uid="{uid}", got "{response.uid[:_SHOWN]}"'
    if {"kind": review.kind, "apiVersion": review.api_version} != _REVIEW:
        group, _, version = review.api_version[:_SHOWN].rpartition("/")
        given = f"{group}/{version}, Kind={review.kind[:_SHOWN]}"
        return f"expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {given}"
    if response.patch:
        return "validating webhook may not return response.patch"
    if response.patch_type is not None:
        return "validating webhook may not return response.patchType"
    return ""
