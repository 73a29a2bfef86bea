# SPDX-License-Identifier: Apache-2.0
"""Shows what the operator recorded in a job's status, which is English, in another language.

The operator joins clauses that it makes from few templates: `2 of 3 workers are in the host list; pi-worker-2 joins at
14:03:20 UTC, because ...`. The table of a language has these templates as keys. A text is split into clauses, and each
is recognised by its template; clauses that no template fits stay English, as do quotations of other programs.

In a template `{name}` stands for any text, `{name:d}` for digits, `{name:w}` for text without spaces, `{name:e}` for an
exit code with what is known of it, `{name:q}` for a quotation, `{name:t}` for text that is translated itself,
`{name:c}` for one such clause, and `[is|are]` for either of two spellings. Only quotations, and what stands at the end,
may have several clauses.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

_PART: Final = re.compile(r"\{(\w+)(?::([cdewqt]))?\}|\[([^\]|]*(?:\|[^\]|]*)+)\]")
_HOLES: Final = {"d": r"\d+", "w": r"\S+", "e": r"-?\d+(?: \([^)]*\))?", "q": ".+?"}
_CLAUSE: Final = r"(?:(?![;.] ).)+?"
_ENDS: Final = re.compile(r"[;.] ")
_DEPTH: Final = 4
_LONGEST: Final = 4096
_MOST_CLAUSES: Final = 20


def translated(said: str, table: Mapping[str, str], depth: int = 0) -> str:
    if not said or len(said) > _LONGEST or depth > _DEPTH:
        return said
    whole, stop = _without_stop(said)
    if (found := _by_template(whole, table, depth)) is not None:
        return found + stop
    ends = list(itertools.islice(_ENDS.finditer(said), _MOST_CLAUSES))
    for end in ends:
        first, rest = said[: end.start()], said[end.end() :]
        if (found := _by_template(first, table, depth)) is not None:
            return f"{found}{_JOINTS[said[end.start()]]}{translated(rest, table, depth)}"
    return _after_quotation(said, ends, table, depth)


def _after_quotation(said: str, ends: Sequence[re.Match[str]], table: Mapping[str, str], depth: int) -> str:
    """Clauses of the operator may follow what it quotes, which may have several clauses itself."""
    for end in ends:
        rest = said[end.end() :]
        first = _ENDS.split(_without_stop(rest)[0], maxsplit=1)[0]
        if _by_template(first, table, depth) is not None:
            return f"{said[: end.start()]}{_JOINTS[said[end.start()]]}{translated(rest, table, depth + 1)}"
    return said


_JOINTS: Final = {";": "；", ".": "。"}


def _without_stop(said: str) -> tuple[str, str]:
    return (said[:-1], "。") if said.endswith(".") and not said.endswith("..") else (said, "")


def _by_template(clause: str, table: Mapping[str, str], depth: int) -> str | None:
    for template in _candidates(clause, table):
        pattern, nested = _compiled(template)
        if (found := pattern.fullmatch(clause)) is None:
            continue
        values = {
            name: translated(value, table, depth + 1) if name in nested else value
            for name, value in found.groupdict().items()
        }
        return table[template].format_map(values)
    return None


def _candidates(clause: str, table: Mapping[str, str]) -> Iterator[str]:
    """Those whose literal parts occur in the clause: few are worth a regular expression."""
    for template in table:
        if all(part in clause for part in _literals(template)):
            yield template


@lru_cache(maxsize=1024)
def _literals(template: str) -> tuple[str, ...]:
    parts, at = [], 0
    for found in _PART.finditer(template):
        parts.append(template[at : found.start()])
        at = found.end()
    parts.append(template[at:])
    return tuple(part for part in parts if part)


@lru_cache(maxsize=1024)
def _compiled(template: str) -> tuple[re.Pattern[str], frozenset[str]]:
    pattern, at, nested = "", 0, set()
    for found in _PART.finditer(template):
        pattern += re.escape(template[at : found.start()])
        name, kind, either = found.groups()
        if either is not None:
            pattern += f"(?:{'|'.join(map(re.escape, either.split('|')))})"
        else:
            otherwise = ".+?" if kind != "c" and found.end() == len(template) else _CLAUSE
            pattern += f"(?P<{name}>{_HOLES.get(kind, otherwise)})"
            nested |= {name} if kind in ("c", "t") or found.end() == len(template) else set()
        at = found.end()
    return re.compile(pattern + re.escape(template[at:]), re.DOTALL), frozenset(nested)
