# SPDX-License-Identifier: Apache-2.0
"""The kinds of jobs that are served: the only module where the engine and the kinds meet.

docs/adding-a-kind.md lists all that a new kind needs.

`springtide.api.kinds.registry` lists the same kinds for packages that need only their definitions.
"""

from __future__ import annotations

from typing import Final

from springtide.jobs.kinds.elastic_training.entry import TRAININGJOB
from springtide.jobs.kinds.mpi.entry import MPIJOB
from springtide.jobs.kinds.pytorch.entry import PYTORCHJOB
from springtide.jobs.kinds.tensorflow.entry import TFJOB
from springtide.jobs.served import Served

SERVED: Final[tuple[Served, ...]] = (MPIJOB, PYTORCHJOB, TFJOB, TRAININGJOB)
