# SPDX-License-Identifier: Apache-2.0
"""JSON merge patch (RFC 7386): objects are merged, null removes, everything else replaces. Lists are replaced whole.

The patch verb calls `apply`; controllers write status by merge patch, so it copies only the objects on the path to a
change and shares the rest with the target.
"""

from __future__ import annotations

from typing import Any

from springtide.local.patches.conformity import json_kind
from springtide.local.status import bad_request


def apply(target: dict[str, Any], patch: Any) -> dict[str, Any]:
    """The patched object. Raises StatusError 400 when the patch is not an object."""
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        what = f"json: cannot unmarshal {json_kind(patch)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding patch: {what}")
    return _merged(target, patch)


def _merged(target: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    out = dict(target)
    for name, value in patch.items():
        if value is None:
            out.pop(name, None)
            continue
        below = out.get(name)
        if isinstance(below, dict) and isinstance(value, dict):
            out[name] = _merged(below, value)
        else:
            out[name] = without_nulls(value)
    return out


def without_nulls(value: Any) -> Any:
    """The value for a position that did not exist: nulls are removals and are dropped (but not as list items)."""
    if isinstance(value, dict):
        return {name: without_nulls(part) for name, part in value.items() if part is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value
