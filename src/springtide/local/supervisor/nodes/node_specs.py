# SPDX-License-Identifier: Apache-2.0
"""Nodes as written on a command line, parsed into Node objects.

    gpu-a=cpu:8,memory:32Gi,nvidia.com/gpu:4
    spot-b=cpu:4,spot,label:disk=fast,taint:team=vision:NoSchedule
    worker-1                                      as large as the machine

`tide up --node` and `tide node add` share this form. Errors show their position in the text and a correct example.
Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from springtide.api import quantity
from springtide.kube.resources import NODES, Key, Obj
from springtide.local.kinds import names

LOCAL: Final = "springtide.dev/local-node"
SPOT: Final = "springtide.dev/spot"
CAPACITY: Final = "springtide.dev/capacity"
INDEX: Final = "springtide.dev/node-index"
RECLAIM_AT: Final = "springtide.dev/reclaim-at"
RECLAIM: Final = "springtide.dev/reclaim"
"""Key of the taint that a node carries once its reclaim is announced."""
DEFAULT: Final = "springtide.dev/default-node"
"""Marks the node that was created because none was requested."""
HOSTNAME: Final = "kubernetes.io/hostname"

EXAMPLE: Final = "gpu-a=cpu:8,memory:32Gi,nvidia.com/gpu:4,spot,label:disk=fast,taint:team=vision:NoSchedule"
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NATIVE: Final = ("cpu", "memory", "pods", "ephemeral-storage")
_LONGEST_NAME: Final = 63  # it is also the value of a label


class SpecError(ValueError):
    """The text describes no node."""

    def __init__(self, text: str, position: int, why: str) -> None:
        self.position, self.why = position, why
        super().__init__(f"{why}\n  {text}\n  {' ' * position}^\nWrite it like: {EXAMPLE}")


class _Part(NamedTuple):
    """A part of the text between commas, and its position."""

    text: str
    position: int

    def after(self, prefix: str) -> _Part:
        return _Part(self.text.removeprefix(prefix), self.position + len(prefix))

    def cut(self, mark: str) -> tuple[_Part, _Part]:
        """The parts before and after the first mark; without a mark the second is empty and at the end."""
        before, _, after = self.text.partition(mark)
        return _Part(before, self.position), _Part(after, self.position + len(before) + len(mark))


class _Wrong(Exception):
    def __init__(self, part: _Part, why: str) -> None:
        super().__init__(why)
        self.part, self.why = part, why


@dataclass(slots=True)
class _Wanted:
    capacity: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    taints: list[Obj] = field(default_factory=list)


def parse(text: str) -> Obj:
    """The Node object; SpecError when the text is invalid."""
    name, rest = _Part(text, 0).cut("=")
    wanted = _Wanted()
    try:
        _check(name, "name of a node", names.dns_subdomain)
        if len(name.text) > _LONGEST_NAME:
            raise _Wrong(name, f"a name has at most {_LONGEST_NAME} characters")
        for part in _parts(rest) if "=" in text else ():
            _read(part, wanted)
    except _Wrong as wrong:
        raise SpecError(text, min(wrong.part.position, len(text)), wrong.why) from None
    return _node(name.text, wanted)


def default(hostname: str) -> Obj:
    """The single node of a machine without requested nodes, named after the machine."""
    name = re.sub("[^a-z0-9]+", "-", hostname.lower().partition(".")[0])[:_LONGEST_NAME].strip("-") or "localhost"
    node = _node(name, _Wanted())
    node["metadata"]["annotations"] = {DEFAULT: "true"}
    return node


def _node(name: str, wanted: _Wanted) -> Obj:
    node = NODES.describe(Key("", name))
    node["metadata"]["labels"] = {HOSTNAME: name, LOCAL: ""} | wanted.labels
    if wanted.capacity:
        node["metadata"]["annotations"] = {CAPACITY: json.dumps(wanted.capacity)}
    node["spec"] = {"taints": wanted.taints} if wanted.taints else {}
    return node


def _parts(rest: _Part) -> list[_Part]:
    parts: list[_Part] = []
    position = rest.position
    for text in rest.text.split(","):
        parts.append(_Part(text, position))
        position += len(text) + 1
    return parts


def _read(part: _Part, wanted: _Wanted) -> None:
    if part.text == "spot":
        wanted.labels[SPOT] = "true"
    elif part.text.startswith("label:"):
        key, value = part.after("label:").cut("=")
        _check(key, "label", names.qualified_name)
        _check(value, "label value", names.label_value)
        wanted.labels[key.text] = value.text
    elif part.text.startswith("taint:"):
        wanted.taints.append(_taint(part.after("taint:"), wanted.taints))
    else:
        _amount(part, wanted.capacity)


def _taint(part: _Part, others: list[Obj]) -> Obj:
    named, effect = part.cut(":")
    key, value = named.cut("=")
    _check(key, "taint", names.qualified_name)
    _check(value, "taint value", names.label_value)
    if effect.text not in _EFFECTS:
        raise _Wrong(effect, f"the effect of a taint is one of {', '.join(_EFFECTS)}")
    taint = {"key": key.text, "value": value.text, "effect": effect.text}
    if any((other["key"], other["effect"]) == (key.text, effect.text) for other in others):
        raise _Wrong(key, f"taint {key.text!r} is there twice with effect {effect.text}")
    return {name: text for name, text in taint.items() if text}


def _amount(part: _Part, capacity: dict[str, str]) -> None:
    if not part.text:
        raise _Wrong(part, "something is missing here: an amount such as cpu:8, or spot, label:… or taint:…")
    name, amount = part.cut(":")
    if ":" not in part.text:
        raise _Wrong(part, f"{part.text!r} is neither spot nor an amount such as cpu:8")
    _check_resource(name)
    if name.text in capacity:
        raise _Wrong(name, f"{name.text} is there twice")
    try:
        found = quantity.parse(amount.text)
    except quantity.QuantityError:
        raise _Wrong(amount, f"{amount.text!r} is no amount; amounts look like 8, 500m or 32Gi") from None
    if found < quantity.ZERO:
        raise _Wrong(amount, "an amount is not negative")
    if name.text not in ("cpu", "memory", "ephemeral-storage") and found.nanos % quantity.NANO:
        raise _Wrong(amount, f"{name.text} is counted in whole numbers")
    capacity[name.text] = amount.text


def _check_resource(name: _Part) -> None:
    if name.text in _NATIVE or name.text.startswith("hugepages-"):
        return
    if "/" not in name.text:
        known = ", ".join(_NATIVE)
        raise _Wrong(name, f"{name.text!r} is none of {known}; others have a domain, such as nvidia.com/gpu")
    _check(name, "resource", names.qualified_name)


def _check(part: _Part, what: str, complaints: Callable[[str], Sequence[str]]) -> None:
    if found := complaints(part.text):
        raise _Wrong(part, f"{part.text!r} is no {what}: {'; '.join(found)}")
