# SPDX-License-Identifier: Apache-2.0
"""A rule for every CEL function that reads a string, or what was parsed from one.

The functions come from the registry, so a new one is tried without a line here.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.robustness.complexity.cases import TEXTS, Obj

from springtide.local.schema.cel import evaluation, kubernetes  # noqa: F401 -- importing declares all functions
from springtide.local.schema.cel.registry import FUNCTIONS, Overload
from springtide.local.schema.cel.types import Type

LONGEST = 50_000
RULE_TEXTS = TEXTS | {
    "durations": "1h",
    "fractions": "1.",
    "groups": "1:",
    "colons": "::",
    "slashes": "/",
    "queries": "a=&",
    "directives": "%s",
    "precisions": "%.9",
    "blanks": " ",
    "brackets": "[",
    "sharp s": "ß",
}
"""Signs that strings of one format or another are made of."""
STARTS = ("", "1.2.3-", "http://a/?", "http://[", "1.1.1.1/", "2020-01-01T00:00:00.", "Europe/", "v")
"""What a parser must have seen before it reads what is repeated."""

_PARSED = {
    "quantity": "'1'",
    "url": "'http://a'",
    "ip": "'1.1.1.1'",
    "cidr": "'1.0.0.0/8'",
    "semver": "'1.2.3'",
    "duration": "'1h'",
    "timestamp": "'2026-01-01T00:00:00Z'",
}
"""The functions that parse strings, and a short string for each."""
_WITHOUT_BOUND = ("join", "isSorted", "min", "max")
"""Functions that kube-apiserver lets no rule use on a list that the rule makes, whatever its length."""
_WRITTEN = {
    "string": "self",
    "int": "3",
    "bool": "true",
    "double": "1.5",
    "bytes": "bytes(self)",
    "map": "{self: self}",
    "format": "format.dns1123Label()",
}


def function_rules() -> dict[str, str]:
    """Rules of a string, by the name of the function and the position of the long argument."""
    found: dict[str, str] = {}
    for name, overloads in FUNCTIONS.items():
        for number, overload in enumerate(overloads):
            if name[0].isalpha() and name not in _WITHOUT_BOUND:
                found.update(_rules(f"{name}-{number}", name, overload))
    for name in kubernetes._NAMED:
        found[f"format-{name}"] = f"format.{name}().validate(self).hasValue() in [true, false]"
    return found


def _rules(title: str, name: str, overload: Overload) -> Iterator[tuple[str, str]]:
    arguments = [_argument(param) for param in overload.params]
    if None in arguments or not any(_is_read(param) for param in overload.params):
        return
    written = [argument or "" for argument in arguments]
    for place, param in enumerate(overload.params):
        if param.name == "string" or (place == 0 and _is_read(param)):
            short = [_short(each, other) if at != place else each for at, (each, other) in _pairs(written, overload)]
            yield f"{title}-{place}", f"[{_call(name, overload, short)}].size() == 1"


def _pairs(written: list[str], overload: Overload) -> Iterator[tuple[int, tuple[str, Type]]]:
    return enumerate(zip(written, overload.params, strict=True))


def _short(written: str, param: Type) -> str:
    if parser := _parser(param):
        return f"{parser}({_PARSED[parser]})"
    return "'a.a'" if param.name == "string" else written


def _call(name: str, overload: Overload, arguments: list[str]) -> str:
    if overload.member:
        return f"{arguments[0]}.{name}({', '.join(arguments[1:])})"
    return f"{name}({', '.join(arguments)})"


def _is_read(param: Type) -> bool:
    return param.name == "string" or _parser(param) is not None or any(each.name == "string" for each in param.params)


def _parser(param: Type) -> str | None:
    """The function that makes a value of the type from a string."""
    for name in _PARSED:
        if any(not each.member and each.result == param for each in FUNCTIONS[name]):
            return name
    return None


def _argument(param: Type) -> str | None:
    if parser := _parser(param):
        return f"{parser}(self)"
    if param.name == "list":
        inner = _argument(param.params[0])
        return inner and f"[{inner}]"
    return _WRITTEN.get(param.name)


def rule_fields() -> dict[str, Obj]:
    """A field for each rule."""
    return {
        name: {"type": "string", "maxLength": LONGEST, "x-kubernetes-validations": [{"rule": rule}]}
        for name, rule in function_rules().items()
    }


def rule_values() -> Iterator[tuple[str, str]]:
    """Texts that are as long as rules may read."""
    for name, sign in RULE_TEXTS.items():
        for start in STARTS:
            text = start + sign * (LONGEST // len(sign))
            yield f"{name} after {start}", text[: LONGEST - 1] + "!"
