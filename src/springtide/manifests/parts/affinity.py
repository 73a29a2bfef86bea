# SPDX-License-Identifier: Apache-2.0
"""Affinity policies of a TFJob's roles: the pods of a role on different nodes, or the pods of a job on few."""

from __future__ import annotations

from typing import Final

from springtide.manifests.parts.objects import Obj
from springtide.manifests.submissions.submission import Spread

NONE: Final = "none"
_SPREAD: Final = "spread"
_BINPACK: Final = "binpack"
_PREFERRED: Final = "preferred"
_REQUIRED: Final = "required"


def affinity(job: str, spread: Spread, role: str, other_role: str) -> Obj:
    """The field of a pod of a role; `other_role` is preferred to it by binpack."""
    of_job = {"release": job, "group-name": "kubeflow.org"}
    of_role = {**of_job, "tf-replica-type": role}
    if spread.policy == _SPREAD and spread.constraint == _REQUIRED:
        return {"podAntiAffinity": _required(of_role)}
    if spread.policy == _SPREAD:
        return {"podAntiAffinity": _preferred((100, of_role))}
    if spread.policy == _BINPACK and spread.constraint == _REQUIRED:
        return {"podAffinity": _required(of_role)}
    if spread.policy == _BINPACK:
        by_type = ((60, {"tf-replica-type": other_role}), (30, {"tf-replica-type": role}))
        return {"podAffinity": _preferred((100, of_job), *by_type)}
    return {}


def _required(labels: dict[str, str]) -> Obj:
    return {"requiredDuringSchedulingIgnoredDuringExecution": [_term(labels)]}


def _preferred(*weighed: tuple[int, dict[str, str]]) -> Obj:
    terms = [{"weight": weight, "podAffinityTerm": _term(labels)} for weight, labels in weighed]
    return {"preferredDuringSchedulingIgnoredDuringExecution": terms}


def _term(labels: dict[str, str]) -> Obj:
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
    return {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchExpressions": expressions}}
