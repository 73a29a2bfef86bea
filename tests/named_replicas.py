# SPDX-License-Identifier: Apache-2.0
"""What must hold at every write of a job whose replicas keep their names, whoever is killed where. Pure.

Fed with the states of its pods and of its ledger, in the order in which the server had them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from springtide.jobs.ledger import token

Obj = dict[str, Any]
JOB = "springtide.dev/job"
ROLE = "springtide.dev/role"
INDEX = "springtide.dev/index"
LEDGER = "springtide.dev/ledger"
WHOLE_JOB = "whole-job"


@dataclass
class Course:
    """Of one job. `whole` jobs are restarted as a whole."""

    whole: bool = False
    _ledger: Obj = field(default_factory=dict)
    _pods: dict[str, str] = field(default_factory=dict)
    """Uids of the pods there are, by name."""

    def ledger(self, config: Obj, gone: bool) -> None:
        self._ledger = {} if gone else ledger(config)

    def pod(self, pod: Obj, gone: bool) -> Iterator[str]:
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        known = uid in self._pods.values()
        if gone:
            self._pods.pop(name, None)
        elif not known:
            yield from identity_faults(pod)
            yield from self._created(pod, name)
            self._pods[name] = uid

    def _created(self, pod: Obj, name: str) -> Iterator[str]:
        role, index = pod["metadata"]["labels"][ROLE], int(pod["metadata"]["labels"][INDEX])
        size = self._ledger.get("sizes", {}).get(role)
        if size is None or index >= size:
            yield f"{name} is created, and the ledger has {size} of {role}"
        if name in self._ledger.get("done", ()):
            yield f"{name} is run again although it has succeeded"
        if not self.whole:
            return
        if self._ledger.get("complete"):
            yield f"{name} is created again by itself, and the job is to be restarted as a whole"
        if before := sorted({*map(token, self._pods.values())} & {*map(token, self._ledger.get("retried", ()))}):
            yield f"{name} is created beside {before} of the run before"


def ledger(config: Obj) -> Obj:
    found: Obj = json.loads(config["metadata"].get("annotations", {}).get(LEDGER, "{}"))
    return found


def identity_faults(pod: Obj) -> Iterator[str]:
    """Name, labels and variables of a replica tell the same role and index."""
    name, labels = pod["metadata"]["name"], pod["metadata"]["labels"]
    role, index = labels[ROLE], int(labels[INDEX])
    if name != f"{labels[JOB]}-{role.lower()}-{index}":
        yield f"{name} is {role} {index} of {labels[JOB]} by its labels"
    if labels.get("training.kubeflow.org/replica-index") != str(index):
        yield f"{name} has {labels}"
    told = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0].get("env", ())}
    rank = str(index) if role == "Master" else str(index + 1)
    if told.get("RANK", rank) != rank:
        yield f"{name} has rank {told['RANK']}"
    if "TF_CONFIG" in told:
        task = json.loads(str(told["TF_CONFIG"]))["task"]
        if task != {"type": role.lower(), "index": index}:
            yield f"{name} is told to be {task}"
