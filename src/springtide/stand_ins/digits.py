# SPDX-License-Identifier: Apache-2.0
"""1,797 handwritten digits of 8×8 pixels. Their source and licence: digits.txt."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_FILE = Path(__file__).with_name("digits.csv.gz")
_TESTED = 5
"""Every fifth digit is for testing."""


class Digits(NamedTuple):
    pixels: Any
    """64 numbers per digit, from 0 (white) to 1 (black)."""
    labels: Any
    """The digits' values, 0 to 9."""


def load() -> Digits:
    """All digits."""
    with gzip.open(_FILE, "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.int64)
    return Digits(table[:, :-1] / 16, table[:, -1])


def parted() -> tuple[Digits, Digits]:
    """The digits for training, and those for testing."""
    pixels, labels = load()
    tested = np.arange(len(labels)) % _TESTED == 0
    return Digits(pixels[~tested], labels[~tested]), Digits(pixels[tested], labels[tested])
