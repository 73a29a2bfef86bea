# SPDX-License-Identifier: Apache-2.0
"""The ConfigMap that Arena keeps beside a job: what was asked for, and which objects `delete` deletes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from springtide.manifests.parts.charts import chart_of
from springtide.manifests.parts.labels import USER_ID
from springtide.manifests.parts.objects import Obj
from springtide.manifests.submissions.submission import Submission

_WIDTH: Final = 2**16
"""Folded lines are hard to read, and to search."""
_CREATED_BY: Final = {"createdBy": "arena"}


def name(submission: Submission) -> str:
    return f"{submission.name}-{chart_of(submission).type}"


def config_map(submission: Submission, values: Obj, objects: Sequence[Obj], isolated: bool = False) -> Obj:
    """`objects` are those of the job. In namespaces where users see only their own jobs it names its user, too."""
    chart = chart_of(submission)
    user = {USER_ID: submission.user.id} if isolated else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name(submission),
            "namespace": submission.namespace,
            "labels": {**_CREATED_BY, **user},
        },
        "data": {
            "values": yaml.safe_dump(values, sort_keys=False, width=_WIDTH),
            "app": "\n".join(reference(each) for each in objects),
            chart.name: chart.version,
        },
    }


def reference(obj: Obj) -> str:
    """The object as kubectl writes it: `trainingjob.kai.alibabacloud.com/NAME`."""
    group, slash, _ = obj["apiVersion"].partition("/")
    kind = obj["kind"].lower()
    return f"{kind}.{group}/{obj['metadata']['name']}" if slash else f"{kind}/{obj['metadata']['name']}"


def owner_reference(job: Mapping[str, Any]) -> Obj:
    """What makes the ConfigMap, and the objects beside the job, go with the job as it was created."""
    return {
        "apiVersion": job["apiVersion"],
        "kind": job["kind"],
        "name": job["metadata"]["name"],
        "uid": job["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
