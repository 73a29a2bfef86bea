# SPDX-License-Identifier: Apache-2.0
"""What the programs under measurement have in common: the model's size, a step's work, and a diary of steps.

A step's work is a wait of 20 ms, as for a GPU, after which the ranks add up a few numbers. Everybody writes down when
that was, by a clock that all processes of a machine share:

    nanoseconds rank size step
"""

from __future__ import annotations

import os
import time

COMMIT = 10
"""Steps from one commit to the next."""
_ARRAYS = 10
_WORK = 0.02


def arrays() -> list[int]:
    """How many numbers of four bytes each of the model's arrays has."""
    megabytes = int(os.environ.get("RESIZE_MEGABYTES", "100"))
    return [megabytes * 1_000_000 // 4 // _ARRAYS] * _ARRAYS


def work() -> None:
    time.sleep(_WORK)


class Diary:
    def __init__(self) -> None:
        place = os.path.join(os.environ["RESIZE_FOLDER"], f"{os.getpid()}.steps")
        self._file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, rank: int, size: int, step: int) -> None:
        os.write(self._file, f"{time.monotonic_ns()} {rank} {size} {step}\n".encode())
