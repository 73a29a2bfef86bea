# SPDX-License-Identifier: Apache-2.0
"""Stands in for Horovod's example tensorflow_mnist.py. SPRINGTIDE_SECONDS=0 makes it as fast as possible."""

from __future__ import annotations

from springtide.stand_ins import training

if __name__ == "__main__":
    training.mnist(seconds=10, epochs=15)
