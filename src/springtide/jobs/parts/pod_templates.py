# SPDX-License-Identifier: Apache-2.0
"""A pod from a user's template: what the operator adds is added to a copy.

A copy may be changed where this module changes it: one level down, and in the first container, which is the one that
trains.
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
_MESSAGE: Final = "terminationMessagePolicy"
"""Last lines of the log come with how a container ended, so that people need not look for them."""


def spec_of(role: Role) -> Raw:
    spec = dict(role.template["spec"])
    first, *others = spec["containers"]
    spec["containers"] = [{_MESSAGE: "FallbackToLogsOnError", **first}, *others]
    return spec


def pod(job: Job[Any], role: Role, name: str, labels: Mapping[str, str], spec: Raw, settings: Settings) -> Raw:
    """With the metadata of the template, and a member of the job's gang where there is one."""
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
    """To a list of the first container."""
    first = spec["containers"][0]
    first[field] = [*(first.get(field) or ()), *more]


def variables(values: Mapping[str, str]) -> list[Raw]:
    return [{"name": name, "value": value} for name, value in values.items()]


def given(spec: Raw) -> set[str]:
    """Names of the variables that the first container has."""
    return {each.get("name") for each in spec["containers"][0].get("env") or ()}


def mount(spec: Raw, volume: Raw, path: str) -> None:
    add_volume(spec, volume, {"name": volume["name"], "mountPath": path})


def add_volume(spec: Raw, volume: Raw, at: Raw) -> None:
    spec["volumes"] = [*(spec.get("volumes") or ()), volume]
    add(spec, "volumeMounts", [at])


def restart_policy(policy: RestartPolicy) -> str:
    """Pods know no ExitCode: the engine decides by it, so that the pod must not start again by itself."""
    return (RestartPolicy.NEVER if policy is RestartPolicy.EXIT_CODE else policy).value
