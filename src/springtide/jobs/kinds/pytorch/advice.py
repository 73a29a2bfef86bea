# SPDX-License-Identifier: Apache-2.0
"""What users can do about a replica that ended for a known cause."""

from __future__ import annotations

from typing import Final

from springtide.jobs.observed import Exit

_NO_MPI: Final = "have MPI built in"
"""PyTorch's message about a backend that is in no wheel: "Distributed package doesn't have MPI built in"."""


def on(ended: Exit) -> str:
    """The advice; empty if the cause is unknown."""
    if _NO_MPI in ended.message:
        return (
            "PyTorch's packages come without MPI: use the backend gloo or nccl, build PyTorch from source, or run the "
            "program as an MPIJob with mpi4py"
        )
    return ""
