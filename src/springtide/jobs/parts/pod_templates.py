# SPDX-License-Identifier: Apache-2.0
"""Builds a pod from a user's template; additions are made to a copy.

The copy is changed only one level down, and in the container that trains: the first one, unless a kind names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from springtide.api.job import Job, Role
from springtide.api.kinds.replicas import RestartPolicy
from springtide.jobs.objects import owner
from springtide.jobs.observed import Settings
from springtide.jobs.parts import gangs

Raw = dict[str, Any]

ISTIO: Final = "sidecar.istio.io/inject"
_ALIKE: Final = ("image", "imagePullPolicy", "securityContext")
_AMOUNTS: Final = ("cpu", "memory")
_MESSAGE: Final = "terminationMessagePolicy"
"""The last lines of the log become part of the container's status, so that users need not look for them."""


def spec_of(role: Role, main: str = "") -> Raw:
    """`main` is the container that trains; the first one if there is none of this name."""
    spec = dict(role.template["spec"])
    spec["containers"] = list(spec["containers"])
    place = position(spec, main)
    spec["containers"][place] = {_MESSAGE: "FallbackToLogsOnError", **spec["containers"][place]}
    return spec


def position(spec: Raw, name: str) -> int:
    """Where the container of this name is; 0 if there is none."""
    return next((place for place, each in enumerate(spec["containers"]) if each.get("name") == name), 0)


def pod(job: Job[Any], role: Role, name: str, labels: Mapping[str, str], spec: Raw, settings: Settings) -> Raw:
    """The pod with the template's metadata, and as a member of the job's gang if there is one."""
    meant = role.template.get("metadata") or {}
    metadata = {
        **{key: value for key, value in meant.items() if key not in ("name", "namespace", "generateName")},
        "name": name,
        "namespace": job.metadata.namespace,
        "labels": {**(meant.get("labels") or {}), **labels},
        "annotations": {ISTIO: "false", **(meant.get("annotations") or {})},
        "ownerReferences": [owner(job)],
    }
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return dict(gangs.marked(made, gangs.of(settings.gang_scheduler, job.metadata.name)))


def add(spec: Raw, field: str, more: Sequence[Any]) -> None:
    """Appends to a list of the first container."""
    first = spec["containers"][0]
    first[field] = [*(first.get(field) or ()), *more]


def alike(spec: Raw, main: str = "") -> Raw:
    """What an init container of ours takes over from the container that trains: its image, which is on the node anyway,
    and what satisfies a quota or a security level of the namespace. Its resources do not add to those of the pod."""
    trains = spec["containers"][position(spec, main)]
    kept = {field: trains[field] for field in _ALIKE if field in trains}
    given = trains.get("resources") or {}
    amounts = {
        part: {name: amount for name, amount in (given.get(part) or {}).items() if name in _AMOUNTS}
        for part in ("limits", "requests")
    }
    found = {part: each for part, each in amounts.items() if each}
    return kept | ({"resources": found} if found else {})


def variables(values: Mapping[str, str]) -> list[Raw]:
    return [{"name": name, "value": value} for name, value in values.items()]


def given(spec: Raw) -> set[str]:
    """Names of the first container's variables."""
    return {each.get("name") for each in spec["containers"][0].get("env") or ()}


def mount(spec: Raw, volume: Raw, path: str) -> None:
    add_volume(spec, volume, {"name": volume["name"], "mountPath": path})


def add_volume(spec: Raw, volume: Raw, at: Raw) -> None:
    spec["volumes"] = [*(spec.get("volumes") or ()), volume]
    add(spec, "volumeMounts", [at])


def restart_policy(policy: RestartPolicy) -> str:
    """Pods do not support ExitCode: the engine decides by the exit code, so the kubelet must not restart the
    container."""
    return (RestartPolicy.NEVER if policy is RestartPolicy.EXIT_CODE else policy).value
