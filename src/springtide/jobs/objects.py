# SPDX-License-Identifier: Apache-2.0
"""Ownership and labels of a job's objects, and the actions that bring an existing object to its wanted state."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final

from springtide.api.job import Job
from springtide.api.names import LABEL_LENGTH
from springtide.jobs.actions import Action, Create, Delete, Patch
from springtide.jobs.endings import causes
from springtide.jobs.kind import Wanted
from springtide.jobs.observed import Held, Key, Observed, Pod

JOB: Final = "springtide.dev/job"
KIND: Final = "springtide.dev/kind"
"""The labels of every object of a job. Caches select by them."""
ROLE: Final = "springtide.dev/role"
INDEX: Final = "springtide.dev/index"
"""Role and index of a pod. Upstream's labels of the same meaning differ between kinds."""
CONTAINER: Final = "springtide.dev/container"
"""The annotation that names the container of a pod that trains, where it is not the first one."""


def named(job: Job[Any], name: str, labels: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """Metadata of an object of this job."""
    return {
        "name": name,
        "namespace": job.metadata.namespace,
        "labels": {**(labels or {}), **label(job)},
        **more,
        "ownerReferences": [owner(job)],
    }


def label(job: Job[Any]) -> dict[str, str]:
    return {JOB: job.metadata.name, KIND: job.kind}


def place(job: Job[Any], role: str, index: int | None = None) -> dict[str, str]:
    """Labels of a pod."""
    return {**label(job), ROLE: role, **({} if index is None else {INDEX: str(index)})}


def index_of(labels: Mapping[str, str]) -> int | None:
    """Accepts only what `place` writes: any client may write labels."""
    given = labels.get(INDEX, "")
    plain = given.isascii() and given.isdigit() and len(given) <= LABEL_LENGTH
    return int(given) if plain and given == str(int(given)) else None


def owner(job: Job[Any]) -> dict[str, Any]:
    return {
        "apiVersion": job.api_version,
        "kind": job.kind,
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def key_of(manifest: Mapping[str, Any]) -> Key:
    return Key(manifest["apiVersion"], manifest["kind"], manifest["metadata"]["name"])


def ensured(observed: Observed, wanted: Wanted) -> tuple[Action, ...]:
    """The actions that create or repair the object; usually none."""
    key = key_of(wanted.manifest)
    held = observed.objects.get(key)
    if held is None:
        return (Create(wanted.manifest, wanted.secrets, shared=wanted.keys if wanted.shared else ()),)
    body = {name: wanted.manifest[name] for name in wanted.kept if name in wanted.manifest}
    body["metadata"] = {"labels": wanted.manifest["metadata"]["labels"]}
    if _lacks_keys(held, wanted):
        return (Delete(key, held.uid), Create(wanted.manifest, wanted.secrets))
    for place in wanted.whole:
        body = _whole(held.body, body, place.split("."))
    return () if covers(held.body, body) else (Patch(key, body, held.resource_version),)


def _lacks_keys(held: Held, wanted: Wanted) -> bool:
    """Other keys in an object that others may have made do no harm."""
    found = set(held.body.get("data") or {})
    return not found >= set(wanted.keys) if wanted.shared else bool(wanted.keys) and found != set(wanted.keys)


def in_two_steps(
    observed: Observed, first: Sequence[Wanted], then: Sequence[Wanted]
) -> tuple[list[Action], list[Action]]:
    """The actions for the same objects before a write (`first`) and after it (`then`)."""
    now, later = list[Action](), list[Action]()
    for before, after in zip(first, then, strict=True):
        held = observed.objects.get(key_of(after.manifest))
        steps = ensured(observed, after if held is None else before)
        now += steps
        if held is not None and before != after:
            later += (_repatched(held, after),) if steps else ensured(observed, after)
    # An object that cannot be created because its name is taken must not prevent rights from being withdrawn.
    return sorted(now, key=lambda action: isinstance(action, Create)), later


def _repatched(held: Held, wanted: Wanted) -> Patch:
    """A patch without resource version: the object was patched just before, so its version is not known."""
    return Patch(key_of(wanted.manifest), {name: wanted.manifest[name] for name in wanted.kept}, uid=held.uid)


def _whole(there: Mapping[str, Any], body: Mapping[str, Any], place: Sequence[str]) -> dict[str, Any]:
    name, *rest = place
    inner = there.get(name) or {}
    return {**body, name: _whole(inner, body[name], rest) if rest else merging(inner, body[name])}


def merging(there: Any, wanted: Any) -> Any:
    """A merge patch after which only the wanted value is left: it removes other names by setting them to null."""
    if isinstance(there, Mapping) and isinstance(wanted, Mapping):
        return {**dict.fromkeys(there.keys() - wanted.keys()), **wanted}
    return wanted


def deletions(pods: Iterable[Pod]) -> tuple[Action, ...]:
    """Deletes pods; those on unresponsive nodes without a grace period, as they would stay forever."""
    return tuple(
        Delete(Key("v1", "Pod", pod.name), pod.uid, grace=0 if causes.lost(pod) else None)
        for pod in pods
        if not pod.terminating or causes.lost(pod)
    )


def surplus(observed: Observed, wanted: Container[Key]) -> tuple[Action, ...]:
    """Deletions of objects that the job no longer needs, such as the Service of a removed replica."""
    return tuple(Delete(key, held.uid) for key, held in observed.objects.items() if key not in wanted)


def covers(there: Any, wanted: Any) -> bool:
    """Whether all wanted fields are there; fields that servers and other clients add are ignored. Lists must be equal.
    Servers leave out fields that are false or empty, as Go writes them."""
    if there == wanted:
        return True  # what most objects are, and far faster to find out than below
    if there is None and (wanted is False or (isinstance(wanted, Mapping | Sequence) and not wanted)):
        return True
    if isinstance(wanted, Mapping):
        return isinstance(there, Mapping) and all(covers(there.get(name), value) for name, value in wanted.items())
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        same = isinstance(there, Sequence) and not isinstance(there, str) and len(there) == len(wanted)
        return same and all(covers(mine, yours) for mine, yours in zip(there, wanted, strict=True))
    return False
