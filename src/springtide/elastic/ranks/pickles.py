# SPDX-License-Identifier: Apache-2.0
"""Unpickles the state of this version or an earlier one; classes are looked up at their current place.

Such state comes from a checkpoint, or from a rank that sends it to a new one while the package is replaced.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, Final

_MOVED: Final = {
    "springtide.elastic.orders": "springtide.elastic.ranks.orders",
    "springtide.elastic.rank.orders": "springtide.elastic.ranks.orders",
    "springtide.elastic.rank.samplers": "springtide.elastic.ranks.samplers",
    "springtide.elastic.samplers": "springtide.elastic.ranks.samplers",
}
"""Modules whose classes may be in checkpoints, and their current names."""


def loads(data: bytes | bytearray) -> Any:
    """pickle.UnpicklingError for objects of a class that this program does not have."""
    return _Unpickler(io.BytesIO(data)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return super().find_class(_MOVED.get(module, module), name)
        except (ImportError, AttributeError) as error:
            raise pickle.UnpicklingError(
                f"the state holds something of {module}.{name}, which cannot be found here: {error}. "
                "Go on with the program and packages that saved it, or begin anew in another checkpoint directory"
            ) from error
