# SPDX-License-Identifier: Apache-2.0
"""JSON merge patches (RFC 7386) from one object to another. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from springtide.kube.resources import Obj


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> Obj:
    """The patch from `old` to `new`: only what differs, null for what is gone; empty for equal objects. No value of
    `new` may be null, which a merge patch cannot express."""
    patch: Obj = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            if inner := difference(before, value):
                patch[name] = inner
        elif before != value:
            patch[name] = value
    return patch
