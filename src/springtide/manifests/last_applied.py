# SPDX-License-Identifier: Apache-2.0
"""The annotation that `kubectl apply` writes. Arena reads the bounds and the priority of a job from it."""

from __future__ import annotations

import json
from typing import Final

from springtide.manifests.parts.objects import Obj

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"


def with_last_applied(obj: Obj) -> Obj:
    """The object with the annotation. Secrets get none: it would show their content wherever annotations are shown."""
    if obj["kind"] == "Secret":
        return obj
    metadata = obj["metadata"]
    annotations = {name: value for name, value in metadata.get("annotations", {}).items() if name != ANNOTATION}
    applied = {**obj, "metadata": {**metadata, "annotations": annotations}}
    written = {**annotations, ANNOTATION: _as_kubectl(applied)}
    return {**obj, "metadata": {**metadata, "annotations": written}}


def _as_kubectl(obj: Obj) -> str:
    """Go's encoding: sorted, compact, ended by a newline, without characters that HTML treats specially."""
    text = json.dumps(obj, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f"{text}\n"
