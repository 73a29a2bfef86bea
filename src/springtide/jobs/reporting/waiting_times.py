# SPDX-License-Identifier: Apache-2.0
"""The waiting times that users may set by annotations of a job, and warnings about invalid values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from springtide.jobs.launchers.launching import SETTLE_SECONDS, START_SECONDS
from springtide.jobs.replicas.resizing import DRAIN_SECONDS
from springtide.jobs.snapshot import PREFIX, is_seconds

DEFAULTS: Final[Mapping[str, int]] = {
    "drain-seconds": DRAIN_SECONDS,
    "settle-seconds": SETTLE_SECONDS,
    "start-seconds": START_SECONDS,
}


def complaints(annotations: Mapping[str, str], before: Mapping[str, str]) -> list[str]:
    """Warnings about new invalid values; an update that does not change a value gets no warning about it."""
    given = {name: annotations.get(PREFIX + name) for name in DEFAULTS}
    return [
        f"metadata.annotations[{PREFIX}{name}]: "
        f"no whole number of seconds, so the default of {DEFAULTS[name]} is taken: {json.dumps(value)}"
        for name, value in given.items()
        if value is not None and value != before.get(PREFIX + name) and not is_seconds(value)
    ]
