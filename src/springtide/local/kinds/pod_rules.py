# SPDX-License-Identifier: Apache-2.0
"""What a pod's specification may say."""

from __future__ import annotations

from springtide.api.field_errors import FieldError, required
from springtide.local.kinds.strategy import Obj


def validate_pod_spec(spec: Obj, path: str, pod_name: str = "") -> list[FieldError]:
    return [] if spec.get("containers") else [required(f"{path}.containers")]
