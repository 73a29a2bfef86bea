# SPDX-License-Identifier: Apache-2.0
"""Rejects pods with a runtime class: runtime classes are not served here, so none exists."""

from __future__ import annotations

from springtide.local.admission.request import CREATE, AdmissionRequest, forbidden_early


class NoRuntimeClasses:
    def handles(self, operation: str, storage: str, subresource: str) -> bool:
        return storage == "pods" and not subresource and operation == CREATE

    async def admit(self, request: AdmissionRequest) -> None:
        spec = request.object().get("spec") or {}
        if name := spec.get("runtimeClassName"):
            raise forbidden_early(request, f'pod rejected: RuntimeClass "{name}" not found')
        if spec.get("overhead"):
            why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise forbidden_early(request, why)
