# SPDX-License-Identifier: Apache-2.0
"""Registry of CEL functions: a signature in CEL's notation, and its Python implementation.

`@function("string.startsWith(string) bool")` declares a method, `@function("size(list(A)) int")` a function,
`@function("static lists.range(int) list(int)")` one with a dot in its name; operators are functions with names like
`_+_`. The compiler looks names up in `FUNCTIONS` and selects the overload by type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address
from typing import Any, NamedTuple, TypeVar

from springtide.api.quantity import Quantity
from springtide.local.schema.cel.types import NAMED, Type
from springtide.local.schema.cel.values import Optional, TypeName, UInt

Run = TypeVar("Run", bound=Callable[..., Any])


class Overload(NamedTuple):
    member: bool
    params: tuple[Type, ...]  # a method's receiver comes first
    result: Type
    run: Callable[..., Any]


FUNCTIONS: dict[str, list[Overload]] = {}

_SIGNATURE = re.compile(r"(?:(?P<receiver>[\w.]+(?:\(.*?\))?)\.)?(?P<name>[^\s.(]+)\((?P<params>.*)\) (?P<result>\S.*)")
_COMPOUND = ("list", "map", "optional_type")


def function(*signatures: str) -> Callable[[Run], Run]:
    def declare(run: Run) -> Run:
        for signature in signatures:
            _declare(signature, run)
        return run

    return declare


def _declare(signature: str, run: Callable[..., Any]) -> None:
    static = signature.startswith("static ")
    match = _SIGNATURE.fullmatch(signature.removeprefix("static "))
    assert match is not None, signature
    receiver, name = match["receiver"], match["name"]
    params = [_type(text) for text in _split(match["params"])]
    member = receiver is not None and not static
    if member:
        params.insert(0, _type(receiver))
    elif static:
        name = f"{receiver}.{name}"
    FUNCTIONS.setdefault(name, []).append(Overload(member, tuple(params), _type(match["result"]), run))


def _split(text: str) -> list[str]:
    """Split parameters at commas outside of types."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _type(text: str) -> Type:
    name, _, inner = text.partition("(")
    if name in _COMPOUND:
        return Type(name, tuple(_type(part) for part in _split(inner[:-1])))
    return NAMED.get(text) or Type(text)


_PYTHON: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "bool": (bool,),
    "double": (float,),
    "bytes": (bytes,),
    "list": (list,),
    "map": (dict,),
    "object": (dict,),
    "timestamp": (datetime,),
    "duration": (timedelta,),
    "type": (TypeName,),
    "optional_type": (Optional,),
    "kubernetes.Quantity": (Quantity,),
    "net.IP": (IPv4Address, IPv6Address),
    "null": (type(None),),
}


def fits(wanted: Type, value: Any) -> bool:
    """Whether the overload accepts a value whose type was unknown at compile time."""
    if wanted.name == "int":
        return isinstance(value, int) and not isinstance(value, bool | UInt)
    if wanted.name == "uint":
        return isinstance(value, UInt)
    python = _PYTHON.get(wanted.name)
    return python is None or isinstance(value, python)
