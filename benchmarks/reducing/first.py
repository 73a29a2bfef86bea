# SPDX-License-Identifier: Apache-2.0
"""Says when this rank is through with the first collective of its first generation."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from springtide import elastic


@elastic.run
def work(_: elastic.State) -> None:
    elastic.allreduce(np.ones(1))
    (Path(sys.argv[1]) / str(elastic.rank())).write_text(str(time.time()))


work(elastic.State())
