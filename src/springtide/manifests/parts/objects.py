# SPDX-License-Identifier: Apache-2.0
"""Parts of all objects: their type, and leaving out what is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from springtide.manifests.submissions.submission import Submission

Obj = dict[str, Any]


def filled(**fields: Any) -> Obj:
    """The fields that have a value. False and what is empty are as good as none in all fields here."""
    return {name: value for name, value in fields.items() if value}


def metadata(
    submission: Submission, name: str, labels: Mapping[str, str], annotations: Mapping[str, str] | None = None
) -> Obj:
    """The metadata of an object beside the job, or of the job."""
    more = filled(labels=dict(labels), annotations=dict(annotations or {}))
    return {"name": name, "namespace": submission.namespace, **more}
