# SPDX-License-Identifier: Apache-2.0
"""The TrainingJob entry of the registry."""

from __future__ import annotations

from typing import Final

from springtide.api.defaults.trainingjob import defaulted
from springtide.api.kinds.trainingjob import RESOURCE
from springtide.api.validation.trainingjob import admission_errors, errors
from springtide.jobs.kinds.elastic_training.adapter import ELASTIC_TRAINING_KIND
from springtide.jobs.served import Served

TRAININGJOB: Final = Served(
    RESOURCE,
    ELASTIC_TRAINING_KIND,
    read=defaulted,
    errors=errors,
    admission_errors=admission_errors,
    component="trainingjob",
)
