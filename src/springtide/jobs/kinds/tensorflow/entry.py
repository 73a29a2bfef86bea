# SPDX-License-Identifier: Apache-2.0
"""The TFJob entry of the registry."""

from __future__ import annotations

from typing import Final

from springtide.api.defaults.tfjob import defaulted
from springtide.api.kinds.tfjob import RESOURCE
from springtide.api.validation.tfjob import admission_errors, errors
from springtide.jobs.kinds.tensorflow.adapter import TF_KIND
from springtide.jobs.served import Served

TFJOB: Final = Served(
    RESOURCE,
    TF_KIND,
    read=defaulted,
    errors=errors,
    admission_errors=admission_errors,
    component="tfjob-controller",
    framework="tensorflow",
)
