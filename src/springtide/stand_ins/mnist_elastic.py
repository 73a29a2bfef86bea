# SPDX-License-Identifier: Apache-2.0
"""Stands in for Horovod's example tensorflow2_mnist_elastic.py: its job may be resized while it trains.

It takes about a minute with two workers, enough time for a resize: kubectl scale mpijob NAME --replicas=3.
SPRINGTIDE_SECONDS=300 makes it last longer, SPRINGTIDE_SECONDS=0 as short as possible.
"""

from __future__ import annotations

from springtide.stand_ins import training

if __name__ == "__main__":
    training.mnist(seconds=60, epochs=30)
