# SPDX-License-Identifier: Apache-2.0
"""Cycles of owners: objects that wait for each other's deletion, so that none can be deleted first.

Tarjan's algorithm without recursion: a chain of owners may be longer than Python's stack. Linear in objects and
references.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


def cycles(owners: Mapping[str, Iterable[str]]) -> list[frozenset[str]]:
    """The maximal groups in which every object blocks every other, including an object that owns itself.

    `owners`: for each waiting object, those it blocks. Names without an entry of their own do not wait.
    """
    search = _Search(owners)
    for root in owners:
        search.visit(root)
    return search.found


class _Search:
    def __init__(self, owners: Mapping[str, Iterable[str]]) -> None:
        self._owners = owners
        self._order: dict[str, int] = {}
        self._lowest: dict[str, int] = {}
        self._open: list[str] = []
        """Visited, and not yet assigned to a group."""
        self._is_open: set[str] = set()
        self.found: list[frozenset[str]] = []

    def visit(self, root: str) -> None:
        if root in self._order:
            return
        path = [(root, self._enter(root))]
        while path:
            name, rest = path[-1]
            for owner in rest:
                if owner not in self._order:
                    path.append((owner, self._enter(owner)))
                    break
                if owner in self._is_open:
                    self._lowest[name] = min(self._lowest[name], self._order[owner])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    self._lowest[above] = min(self._lowest[above], self._lowest[name])
                if self._lowest[name] == self._order[name]:
                    self._close(name)

    def _enter(self, name: str) -> Iterator[str]:
        self._order[name] = self._lowest[name] = len(self._order)
        self._open.append(name)
        self._is_open.add(name)
        return iter([owner for owner in self._owners[name] if owner in self._owners])

    def _close(self, name: str) -> None:
        members = set()
        while name not in members:
            members.add(self._open.pop())
        self._is_open -= members
        if len(members) > 1 or name in self._owners[name]:
            self.found.append(frozenset(members))
