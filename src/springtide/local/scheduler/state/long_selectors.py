# SPDX-License-Identifier: Apache-2.0
"""Parsed selectors of claims and budgets, for those that are long.

A selector may have a hundred thousand conditions, and is looked at for every volume and every node. Each is parsed once
per version; `preparing` does that in a thread, before the scheduler decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import msgspec

from springtide.kube.resources import Key, Obj
from springtide.local.kinds.label_selectors import LIGHT_SELECTOR, Selector
from springtide.local.scheduler.state import requirements

_MOST: Final = 256


@dataclass(slots=True)
class LongSelectors:
    _known: dict[Key, tuple[Obj | None, Selector]] = field(default_factory=dict)

    def of(self, key: Key, written: Obj | None) -> Selector:
        """The selector of the object with this key, parsed now unless it is known."""
        known = self._known.get(key)
        if known is not None and (known[0] is written or known[0] == written):
            return known[1]
        return requirements.selector(written)

    def lacks(self, key: Key, written: Obj | None) -> bool:
        """Whether the selector is long and unknown."""
        known = self._known.get(key)
        if written is None or (known is not None and known[0] == written):
            return False
        return len(msgspec.json.encode(written)) > LIGHT_SELECTOR

    def keep(self, key: Key, written: Obj | None, parsed: Selector) -> None:
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = (written, parsed)
