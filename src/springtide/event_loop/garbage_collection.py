# SPDX-License-Identifier: Apache-2.0
"""Makes garbage collections rare in processes whose caches hold very many objects.

A collection goes through all objects and stops the event loop meanwhile. Requests and plans create hardly any cycles,
so there is little to collect.
"""

from __future__ import annotations

import gc

_LESS_OFTEN = (20, 100)
"""Collections of the younger generation before one of the next."""


def collect_rarely(after: int) -> None:
    """Exempts existing objects from collection, and collects new ones only after so many allocations."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(after, *_LESS_OFTEN)
