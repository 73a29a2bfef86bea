# SPDX-License-Identifier: Apache-2.0
"""The PyTorchJob entry of the registry."""

from __future__ import annotations

from typing import Final

from springtide.api.defaults.pytorchjob import defaulted
from springtide.api.kinds.pytorchjob import RESOURCE
from springtide.api.validation.pytorchjob import admission_errors, errors
from springtide.jobs.kinds.pytorch.adapter import PYTORCH_KIND
from springtide.jobs.served import Served

PYTORCHJOB: Final = Served(
    RESOURCE,
    PYTORCH_KIND,
    read=defaulted,
    errors=errors,
    admission_errors=admission_errors,
    component="pytorchjob-controller",
    framework="pytorch",
)
