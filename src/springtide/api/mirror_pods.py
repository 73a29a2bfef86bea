# SPDX-License-Identifier: Apache-2.0
"""Mirror pods: pods in the API that represent a process which a kubelet runs without asking the API server.

A mirror pod is bound to its node when it is created. It takes no part in scheduling, quotas, drains and the like: its
process runs whether the pod exists or not. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MIRROR: Final = "kubernetes.io/config.mirror"
"""The annotation by which Kubernetes knows mirror pods; its value is a hash of what the pod represents."""


def is_mirror(pod: Mapping[str, Any]) -> bool:
    return MIRROR in (pod["metadata"].get("annotations") or {})
