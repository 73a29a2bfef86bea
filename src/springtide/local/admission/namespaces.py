# SPDX-License-Identifier: Apache-2.0
"""NamespaceLifecycle: rejects creates in missing or terminating namespaces, and deletion of three namespaces."""

from __future__ import annotations

from typing import Final

from springtide.local import status
from springtide.local.admission.request import CREATE, DELETE, UPDATE, AdmissionRequest, Reader, forbidden_early

IMMORTAL: Final = frozenset({"default", "kube-system", "kube-public"})
# An error "no such namespace" would disclose to an unauthorised user which namespaces exist.
_REVIEWS: Final = "localsubjectaccessreviews.authorization.k8s.io"


class NamespaceLifecycle:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: str, storage: str, subresource: str) -> bool:
        if storage == "namespaces":
            return operation == DELETE
        return operation in (CREATE, UPDATE) and storage != _REVIEWS

    async def admit(self, request: AdmissionRequest) -> None:
        if request.operation == DELETE:
            if request.name in IMMORTAL:
                raise status.forbidden("", "namespaces", request.name, "this namespace may not be deleted")
            return
        if not request.namespace:
            return
        namespace = self._reader.get("namespaces", "", request.namespace)
        if namespace is None:
            raise status.not_found("", "namespaces", request.namespace)
        if request.operation == CREATE and (namespace.get("status") or {}).get("phase") == "Terminating":
            raise _terminating(request)


def _terminating(request: AdmissionRequest) -> status.StatusError:
    name = request.namespace
    error = forbidden_early(request, f"unable to create new content in namespace {name} because it is being terminated")
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {name} is being terminated",
        "field": "metadata.namespace",
    }
    error.details["causes"] = [cause]
    return error
