# SPDX-License-Identifier: Apache-2.0
"""The MPIJob entry of the registry."""

from __future__ import annotations

from typing import Final

from springtide.api.defaults.mpijob import defaulted
from springtide.api.kinds.mpi_modes import submitted_as
from springtide.api.kinds.mpijob import RESOURCE
from springtide.api.validation.mpijob import admission_errors, errors
from springtide.jobs.kinds.mpi.adapter import MPI_KIND
from springtide.jobs.served import Served

MPIJOB: Final = Served(
    RESOURCE,
    MPI_KIND,
    read=defaulted,
    errors=errors,
    admission_errors=admission_errors,
    component="mpi-job-controller",
    metrics="mpi_operator",
    framework="mpi",
    submitted_as=submitted_as,
)
