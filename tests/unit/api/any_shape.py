# SPDX-License-Identifier: Apache-2.0
"""Raw objects with values of any type in any place."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

from hypothesis import strategies as st

Changes = list[tuple[list[int], Any]]
VALUES: Final[tuple[Any, ...]] = (None, -1, 0, 1, 2, 70, "", "None", "x" * 99, True, [], {}, [{}], {"a": 1}, 1.5)


def changes() -> st.SearchStrategy[Changes]:
    paths = st.lists(st.integers(0, 9), min_size=2, max_size=10)
    return st.lists(st.tuples(paths, st.sampled_from(VALUES)), max_size=4)


def change(raw: Any, given: Changes) -> None:
    for path, value in given:
        _put(raw, path, deepcopy(value))


def _put(raw: Any, path: list[int], value: Any) -> None:
    """Puts a value somewhere into an object; the numbers choose the way."""
    for step, last in zip(path, [False] * (len(path) - 1) + [True], strict=True):
        keys = list(raw) if isinstance(raw, dict) else list(range(len(raw)))
        key = keys[step % len(keys)]
        if last or not isinstance(raw[key], dict | list) or not raw[key]:
            raw[key] = value
            return
        raw = raw[key]
