# SPDX-License-Identifier: Apache-2.0
"""What every rank does in benchmarks/allreduce.py: sum up what it is told to, and say how long it took.

Orders come through a socket of the benchmark's and not through the contender, so that one whose turn it is not stands
still: Open MPI's ranks use whole processors while they wait for each other.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Prepare = Callable[[list[Any], bool], Callable[[], object]]
"""From arrays, and whether their mean is wanted, to what sums them up."""


def follow(prepare: Prepare, barrier: Callable[[], object]) -> None:
    """Until nobody orders anything any more."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[1])
        with connection.makefile("rw") as orders:
            for line in orders:
                print(json.dumps(_followed(json.loads(line), prepare, barrier)), file=orders, flush=True)


def _followed(order: dict[str, Any], prepare: Prepare, barrier: Callable[[], object]) -> dict[str, float]:
    reduce = prepare([np.ones(length, dtype=order["type"]) for length in order["lengths"]], order["mean"])
    reduce()  # what is made once is made
    barrier()
    began, used = time.perf_counter(), time.process_time()
    for _ in range(order["times"]):
        reduce()
    took, used = time.perf_counter() - began, time.process_time() - used
    return {"took": took / order["times"], "used": used / order["times"]}
