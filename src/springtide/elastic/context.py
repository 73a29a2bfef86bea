# SPDX-License-Identifier: Apache-2.0
"""This process's place among the ranks, for programs with a transport of their own.

from springtide.elastic import context

context.current().build = lambda session, entry: MyGroup(entry.members, entry.generation)
"""

from springtide.elastic.ranks.context import (
    Attachment,
    Context,
    Expected,
    Resized,
    current,
    entered,
    expected,
    expected_size,
    group,
    on_resize,
    ring,
    told_size,
)

__all__ = [
    "Attachment",
    "Context",
    "Expected",
    "Resized",
    "current",
    "entered",
    "expected",
    "expected_size",
    "group",
    "on_resize",
    "ring",
    "told_size",
]
