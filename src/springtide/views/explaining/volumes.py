# SPDX-License-Identifier: Apache-2.0
"""Volumes that keep pods from starting: claims that do not exist or are not bound, and failed mounts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from springtide.messages import Text, text
from springtide.views.explaining import reading
from springtide.views.explaining.evidence import Cause, Evidence, Fact, Obj

_NOT_FOUND: Final = re.compile(r'persistentvolumeclaim "([^"]+)" not found')
_UNBOUND: Final = "unbound immediate PersistentVolumeClaims"
_MOUNTS: Final = ("FailedMount", "FailedAttachVolume", "FailedMapVolume")
_PROVISIONING: Final = ("ProvisioningFailed", "FailedBinding", "ExternalProvisioning", "WaitForFirstConsumer")
_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"


def claim(evidence: Evidence) -> Cause | None:
    """A claim that no volume is bound to."""
    for held in reading.unplaced(evidence):
        missing = _NOT_FOUND.search(held.message)
        if missing is None and _UNBOUND not in held.message:
            continue
        name = missing[1] if missing else _unbound(evidence, held.pod)
        pod, list_ = reading.name(held.pod), f"kubectl get pvc -n {evidence.namespace}"
        if missing or (name and evidence.claims and evidence.claims.get(name) is None):
            why = text("volume claim {claim} of {pod} does not exist", claim=name, pod=pod)
            return Cause("NoSuchClaim", why, (held.fact, _volume(held.pod, name)), list_)
        if not name:
            why = text("a volume claim of {pod} is not bound", pod=pod)
            return Cause("UnboundClaim", why, (held.fact,), list_)
        why = text("volume claim {claim} of {pod} is not bound: {why}", claim=name, pod=pod, why=_why(evidence, name))
        command = f"kubectl describe pvc {name} -n {evidence.namespace}"
        return Cause("UnboundClaim", why, (held.fact, *_of_claim(evidence, name)), command)
    return None


def mount(evidence: Evidence) -> Cause | None:
    for pod in reading.alive(evidence.pods):
        started = any((each.get("state") or {}).get("running") for each in reading.statuses(pod))
        events = reading.warnings(evidence, reading.name(pod), *_MOUNTS)
        if started or not events or not reading.node_of(pod):
            continue
        said = reading.clause(str(events[0].get("message") or ""))
        why = text("a volume of {pod} cannot be mounted: {said}", pod=reading.name(pod), said=said)
        command = f"kubectl describe pod {reading.name(pod)} -n {evidence.namespace}"
        return Cause("FailedMount", why, (reading.of_event(events[0]),), command)
    return None


def claims_of(pod: Obj) -> Iterator[tuple[str, str]]:
    """The names of a pod's volumes and of their claims."""
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if (source := volume.get("persistentVolumeClaim")) and source.get("claimName"):
            yield str(volume.get("name")), str(source["claimName"])


def _unbound(evidence: Evidence, pod: Obj) -> str:
    names = [each for _, each in claims_of(pod)]
    known = evidence.claims or {}
    pending = (each for each in names if each in known and _phase(known[each]) != "Bound")
    return next(pending, names[0] if len(names) == 1 else "")


def _phase(claim: Obj | None) -> str:
    return str(((claim or {}).get("status") or {}).get("phase") or "")


def _why(evidence: Evidence, name: str) -> Text:
    claim = (evidence.claims or {}).get(name)
    wanted = ((claim or {}).get("spec") or {}).get("storageClassName")
    classes = evidence.storage_classes
    if claim is not None and classes is not None:
        known = {reading.name(each) for each in classes}
        if wanted and wanted not in known:
            return text("storage class {storage} does not exist", storage=wanted)
        if wanted is None and not any(_is_default(each) for each in classes):
            return text("it names no storage class, and the cluster has no default one")
        if wanted == "":
            return text("it names no storage class, and no volume of the cluster fits it")
    events = [each for each in reading.newest(evidence.events) if _about(each) == name]
    if events:
        return text("{said}", said=reading.clause(str(events[0].get("message") or "")))
    return text("no volume fits it")


def _is_default(storage_class: Obj) -> bool:
    return (storage_class["metadata"].get("annotations") or {}).get(_DEFAULT) == "true"


def _about(event: Obj) -> str:
    about = event.get("involvedObject") or {}
    return str(about.get("name")) if about.get("kind") == "PersistentVolumeClaim" else ""


def _of_claim(evidence: Evidence, name: str) -> Iterator[Fact]:
    claim = (evidence.claims or {}).get(name)
    if claim is not None:
        yield Fact(f"pvc/{name}", "status.phase", _phase(claim))
        storage = (claim.get("spec") or {}).get("storageClassName")
        if storage:
            yield Fact(f"pvc/{name}", "spec.storageClassName", str(storage))
    event = next((each for each in reading.newest(evidence.events) if _about(each) == name), None)
    if event is not None:
        yield reading.of_event(event)


def _volume(pod: Obj, claim: str) -> Fact:
    volume = next((volume for volume, name in claims_of(pod) if name == claim), "")
    return Fact(f"pod/{reading.name(pod)}", f"spec.volumes[{volume}].persistentVolumeClaim", claim)
