# SPDX-License-Identifier: Apache-2.0
"""GPUs of pods and pod templates: the limits of their containers, as Arena counts them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from springtide.api import quantity

NVIDIA: Final = "nvidia.com/gpu"
_DEPRECATED: Final = "alpha.kubernetes.io/nvidia-gpu"
_ALIYUN: Final = "aliyun.com/gpu"


def of_job(spec: Mapping[str, Any]) -> int:
    """The GPUs that a pod with this spec adds to those of its job."""
    return sum(_limit(each, NVIDIA) or _limit(each, _DEPRECATED) for each in spec.get("containers") or ())


def of_instance(spec: Mapping[str, Any]) -> int:
    """The GPUs that Arena shows beside a pod with this spec."""
    return sum(_limit(each, NVIDIA) + _limit(each, _ALIYUN) for each in spec.get("containers") or ())


def _limit(container: Mapping[str, Any], resource: str) -> int:
    """Schemas of jobs leave the fields of containers open: anything that is no limit counts as none."""
    resources = container.get("resources")
    limits = resources.get("limits") if isinstance(resources, Mapping) else None
    return whole(limits.get(resource, 0)) if isinstance(limits, Mapping) else 0


def whole(given: object) -> int:
    """A quantity in whole units; 0 for what is none."""
    try:
        return quantity.parse(str(given)).value
    except quantity.QuantityError:
        return 0
