# SPDX-License-Identifier: Apache-2.0
"""Claims and volumes: default StorageClass, protection while in use, and expansion only where the class allows it."""

from __future__ import annotations

from typing import Final

from springtide.api import quantity
from springtide.local.admission.request import CREATE, UPDATE, AdmissionRequest, Obj, Reader, forbidden

CLASSES: Final = "storageclasses.storage.k8s.io"
_CLAIMS: Final = "persistentvolumeclaims"
_VOLUMES: Final = "persistentvolumes"
_DEFAULT_MARKS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_OLD_CLASS_MARK: Final = "volume.beta.kubernetes.io/storage-class"
_FINALIZERS: Final = {_CLAIMS: "kubernetes.io/pvc-protection", _VOLUMES: "kubernetes.io/pv-protection"}


def class_of(claim: Obj) -> str | None:
    """The class that a claim requests: empty for explicitly none, None when unspecified."""
    annotations = claim["metadata"].get("annotations") or {}
    if _OLD_CLASS_MARK in annotations:
        return str(annotations[_OLD_CLASS_MARK])
    name: str | None = claim["spec"].get("storageClassName")
    return name


def default_class(reader: Reader) -> Obj | None:
    """The newest of the classes marked as default; of equal age, the first by name."""
    marked = [found for found in reader.list(CLASSES) if _is_default(found)]
    marked.sort(key=lambda found: str(found["metadata"]["name"]))
    return max(marked, key=lambda found: str(found["metadata"].get("creationTimestamp", "")), default=None)


def _is_default(storage_class: Obj) -> bool:
    annotations = storage_class["metadata"].get("annotations") or {}
    return any(annotations.get(mark) == "true" for mark in _DEFAULT_MARKS)


class DefaultStorageClass:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: str, storage: str, subresource: str) -> bool:
        return storage == _CLAIMS and not subresource and operation == CREATE

    async def admit(self, request: AdmissionRequest) -> None:
        claim = request.object()
        if class_of(claim) is None and (found := default_class(self._reader)):
            claim["spec"]["storageClassName"] = found["metadata"]["name"]


class ProtectInUse:
    """Adds a finalizer, which a controller removes when no pod uses the claim, or no claim the volume."""

    def handles(self, operation: str, storage: str, subresource: str) -> bool:
        return storage in _FINALIZERS and not subresource and operation == CREATE

    async def admit(self, request: AdmissionRequest) -> None:
        meta, finalizer = request.object()["metadata"], _FINALIZERS[request.resource]
        finalizers = meta.get("finalizers") or []
        if finalizer not in finalizers:
            meta["finalizers"] = [*finalizers, finalizer]


class ClaimResize:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: str, storage: str, subresource: str) -> bool:
        return storage == _CLAIMS and not subresource and operation == UPDATE

    async def admit(self, request: AdmissionRequest) -> None:
        new, old = request.object(), request.old or {}
        if _size(new) <= _size(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise forbidden(request, "Only bound persistent volume claims can be expanded")
        if not self._may_grow(class_of(new), class_of(old)):
            why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc "
            raise forbidden(request, why + "must support resize")

    def _may_grow(self, new: str | None, old: str | None) -> bool:
        if not new or new != old:
            return False
        return bool((self._reader.get(CLASSES, "", new) or {}).get("allowVolumeExpansion"))


def _size(claim: Obj) -> quantity.Quantity:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return quantity.parse(str(requests.get("storage", "0")))
