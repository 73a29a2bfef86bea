# SPDX-License-Identifier: Apache-2.0
"""GPUs in pods and pod templates: the limits of their containers, as Arena counts them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from springtide.api import quantity

NVIDIA: Final = "nvidia.com/gpu"
_DEPRECATED: Final = "alpha.kubernetes.io/nvidia-gpu"
_ALIYUN: Final = "aliyun.com/gpu"


def of_job(spec: Mapping[str, Any]) -> int:
    """The GPUs that a pod with this spec adds to those of its job."""
    return sum(_amount(each, NVIDIA) or _amount(each, _DEPRECATED) for each in spec.get("containers") or ())


def of_instance(spec: Mapping[str, Any]) -> int:
    """The GPUs that Arena shows beside a pod with this spec."""
    return sum(_amount(each, NVIDIA) + _amount(each, _ALIYUN) for each in spec.get("containers") or ())


def _amount(container: Mapping[str, Any], resource: str) -> int:
    given = ((container.get("resources") or {}).get("limits") or {}).get(resource)
    return whole(given) if given is not None else 0


def whole(given: object) -> int:
    """A quantity in whole units. Job objects may have been written without checks: an invalid one counts as 0."""
    try:
        return quantity.parse(str(given)).value
    except quantity.QuantityError:
        return 0
