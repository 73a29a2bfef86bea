# SPDX-License-Identifier: Apache-2.0
"""`managedBy`: which controller runs the job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from springtide.api.kinds.run_policy import MPI_OPERATOR, TRAINING_OPERATOR


def managed_elsewhere(raw: Mapping[str, Any]) -> bool:
    """Whether another controller runs the job. Such a job is ignored completely, valid or not: even its status."""
    place: Any = raw
    for name in ("spec", "runPolicy", "managedBy"):
        place = place.get(name) if isinstance(place, Mapping) else None
    return bool(place) and place not in (MPI_OPERATOR, TRAINING_OPERATOR)
