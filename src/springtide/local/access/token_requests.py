# SPDX-License-Identifier: Apache-2.0
"""The subresource `serviceaccounts/token`: answers a TokenRequest with a token.

Called by the API server for `kubectl create token` and for kubelets with projected volumes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from springtide.api import field_errors
from springtide.local import status
from springtide.local.access.tokens import Grant, Reference, ServiceAccountTokens

_GROUP: Final = "authentication.k8s.io"
_SHORTEST, _LONGEST = 600, 2**32
DEFAULT_SECONDS: Final = 3600
# Kubelets request 3607 s for a pod's projected token. They refresh it earlier, but clients that read it only once must
# not fail: it is valid for a year and marks the time when it should have been refreshed.
_PROJECTED_SECONDS: Final = 3607
_EXTENDED_SECONDS: Final = 365 * 24 * 3600

Obj = dict[str, Any]
Lookup = Callable[[str, str, str], Obj | None]


def answer(request: Obj, namespace: str, name: str, tokens: ServiceAccountTokens, lookup: Lookup, now: datetime) -> Obj:
    """The completed TokenRequest. Raises kube-apiserver's StatusErrors."""
    meta, spec = dict(request.get("metadata") or {}), dict(request.get("spec") or {})
    _check_names(meta, namespace, name)
    account = lookup("serviceaccounts", namespace, name)
    if account is None:
        raise status.not_found("", "serviceaccounts", name)
    uid = account["metadata"]["uid"]
    if meta.get("uid", uid) != uid:
        why = f"the UID in the token request ({meta['uid']}) does not match the UID of the service account ({uid})"
        raise status.conflict(_GROUP, "TokenRequest", name, why)
    spec["audiences"] = spec.get("audiences") or list(tokens.audiences)
    if spec.get("expirationSeconds") is None:  # decoding writes an absent pointer as null, as Go does
        spec["expirationSeconds"] = DEFAULT_SECONDS
    seconds = spec["expirationSeconds"]
    spec.setdefault("boundObjectRef", None)
    _check_seconds(seconds)
    bound = _bound(spec["boundObjectRef"], namespace, name, lookup)
    warn_after, lasting = 0, seconds
    if "pod" in bound and seconds == _PROJECTED_SECONDS and set(spec["audiences"]) <= set(tokens.audiences):
        warn_after, lasting = seconds, _EXTENDED_SECONDS
    token = tokens.mint(
        Grant(namespace, Reference(name, uid), tuple(spec["audiences"]), lasting, warn_after=warn_after, **bound)
    )
    meta |= {"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": _shown(now)}
    return {
        "kind": "TokenRequest",
        "apiVersion": f"{_GROUP}/v1",
        "metadata": meta,
        "spec": spec,
        "status": {"token": token, "expirationTimestamp": _shown(now + timedelta(seconds=seconds))},
    }


def _check_names(meta: Obj, namespace: str, name: str) -> None:
    for field, expected in (("name", name), ("namespace", namespace)):
        if meta.get(field, expected) != expected:
            error = field_errors.invalid(
                f"metadata.{field}", meta[field], f"must match the service account {field} if specified"
            )
            raise status.invalid(_GROUP, "TokenRequest", name, [error])


def _check_seconds(seconds: int) -> None:
    if seconds < _SHORTEST:
        complaint = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST:
        complaint = "may not specify a duration larger than 2^32 seconds"
    else:
        return
    error = field_errors.invalid("spec.expirationSeconds", seconds, complaint)
    raise status.invalid(_GROUP, "TokenRequest", "", [error])


def _bound(ref: Obj | None, namespace: str, account: str, lookup: Lookup) -> dict[str, Reference]:
    """The objects whose deletion invalidates the token."""
    if not ref:
        return {}
    kind, version = ref.get("kind", ""), ref.get("apiVersion", "")
    resource = {"Pod": "pods", "Node": "nodes", "Secret": "secrets"}.get(kind)
    if resource is None or "/" in version:
        raise status.bad_request(f"cannot bind token to object of type {_group_version_kind(version, kind)}")
    name = ref.get("name", "")
    found = lookup(resource, "" if kind == "Node" else namespace, name)
    if found is None:
        raise status.not_found("", resource, name)
    if kind == "Pod" and found["spec"].get("serviceAccountName") != account:
        raise status.bad_request(
            f'cannot bind token for serviceaccount "{account}" to pod running with different serviceaccount name.'
        )
    uid = found["metadata"]["uid"]
    if ref.get("uid") and ref["uid"] != uid:
        why = (
            f"the UID in the bound object reference ({ref['uid']}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise status.conflict("", kind, name, why)
    references = {kind.lower(): Reference(name, uid)}
    node_name = found.get("spec", {}).get("nodeName") if kind == "Pod" else None
    if node_name:
        node = lookup("nodes", "", node_name)
        references["node"] = Reference(node_name, node["metadata"]["uid"] if node else "")
    return references


def _group_version_kind(version: str, kind: str) -> str:
    group, slash, bare = version.rpartition("/")
    return f"{group}/{bare}, Kind={kind}" if slash else f"/{version}, Kind={kind}"


def _shown(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
