# SPDX-License-Identifier: Apache-2.0
"""Which pattern fits an image best: `horovod/horovod:*`, `*/pytorch:2.*`, `python`. Pure.

Docker's own registry and `library/` are implied, on both sides. A pattern without a tag fits every tag and digest. Of
several that fit, the one with the most characters that are not wildcards wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

_DEFAULTS = re.compile(r"^(docker\.io/|index\.docker\.io/|registry-1\.docker\.io/)?(library/)?")
_WILD = re.compile(r"\[[^]]*\]|[*?]")


class _Image(NamedTuple):
    name: str
    tag: str
    digest: str


def _parsed(image: str) -> _Image:
    rest, _, digest = _DEFAULTS.sub("", image).partition("@")
    folder, slash, last = rest.rpartition("/")
    base, _, tag = last.partition(":")
    return _Image(f"{folder}{slash}{base}", tag, digest)


def fits(pattern: str, image: str) -> bool:
    wanted, known = _parsed(image), _parsed(pattern)
    if not known.tag and not known.digest:
        return fnmatchcase(wanted.name, known.name)
    tag = wanted.tag or ("" if wanted.digest else "latest")
    ways = {f"{wanted.name}:{tag}"}
    if wanted.digest:
        ways |= {f"{wanted.name}@{wanted.digest}", f"{wanted.name}:{tag}@{wanted.digest}"}
    return any(fnmatchcase(way, _DEFAULTS.sub("", pattern)) for way in ways)


def best(patterns: Iterable[str], image: str) -> str | None:
    return min((pattern for pattern in patterns if fits(pattern, image)), key=_order, default=None)


def _order(pattern: str) -> tuple[int, int, str]:
    """Many plain characters first, then few wildcards, then by name so that the result is deterministic."""
    plain, wild = _WILD.subn("", pattern)
    return -len(plain), wild, pattern
