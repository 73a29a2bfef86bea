# SPDX-License-Identifier: Apache-2.0
"""Pod templates in Deployments, Jobs and similar kinds: the same defaults and rules as for a pod."""

from __future__ import annotations

from springtide.api.field_errors import FieldError
from springtide.local.kinds.metadata import validate_annotations, validate_labels
from springtide.local.kinds.pod.pod_defaults import default_pod_spec
from springtide.local.kinds.pod.pod_rules import validate_pod_spec
from springtide.local.kinds.strategy import Obj


def default_pod_template(template: Obj) -> None:
    template.setdefault("metadata", {})
    default_pod_spec(template.setdefault("spec", {}))


def validate_pod_template(template: Obj, path: str) -> list[FieldError]:
    meta = template.get("metadata") or {}
    errors = validate_labels(meta.get("labels") or {}, f"{path}.labels")
    errors += validate_annotations(meta.get("annotations") or {}, f"{path}.annotations")
    return errors + validate_pod_spec(template.get("spec") or {}, f"{path}.spec")
