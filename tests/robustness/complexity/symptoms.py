# SPDX-License-Identifier: Apache-2.0
"""Requests that once stopped the server or took its memory, and their relatives. Every run of CI tries all of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tests.robustness.complexity.cases import Case, Obj, Steps, placed
from tests.robustness.complexity.custom_cases import (
    DEFINITIONS,
    GROUP,
    JSON_PATCH,
    MAPS,
    OBJECTS,
    PODS,
    custom,
    definition,
)

LENGTH = 200_000
_POD: Obj = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "tried"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
_FIELD_REFERENCES: dict[str, Steps] = {
    "env": ("containers", 0, "env", 0, "valueFrom"),
    "env of an init container": ("initContainers", 0, "env", 0, "valueFrom"),
    "downward API": ("volumes", 0, "downwardAPI", "items", 0),
    "projected downward API": ("volumes", 0, "projected", "sources", 0, "downwardAPI", "items", 0),
}
_FIELD_PATHS = {
    "subscripts": "metadata.labels" + "['a" * (LENGTH // 3),
    "closed subscripts": "metadata.annotations" + "['a']" * (LENGTH // 5),
    "letters": "metadata.labels['" + "a" * LENGTH + "']",
    "points": "metadata" + ".a" * (LENGTH // 2),
    "brackets": "metadata.labels" + "[" * LENGTH,
}
_PATTERN_TEXTS = {"pattern-0": "a" * 100_000 + "!", "pattern-1": "x" * 1_000_000}


def symptom_cases() -> Iterator[Case]:
    for place, steps in _FIELD_REFERENCES.items():
        for name, text in _FIELD_PATHS.items():
            pod = partial(placed, _POD, ("spec", *steps, "fieldRef"), {"fieldPath": text})
            yield Case(f"field path in {place}: {name}", "POST", f"{PODS}?dryRun=All", pod)
    container: Obj = {"name": "c", "image": "i", "command": ["$(" * 100_000], "args": ["$(a" * 60_000, "$(a)" * 50_000]}
    container["env"] = [{"name": "a", "value": "$(" * 100_000}]
    yield Case("references", "POST", f"{PODS}?dryRun=All", lambda: placed(_POD, ("spec", "containers"), [container]))
    for digits in ("9" * 300_000, "0." + "0" * 300_000 + "1", "1e" + "9" * 300_000):
        quantity = partial(placed, _POD, ("spec", "containers", 0, "resources", "requests", "cpu"), digits)
        yield Case(f"quantity {digits[:4]}", "POST", f"{PODS}?dryRun=All", quantity)
    yield from _json_patches()
    yield from _rules()
    for field, text in _PATTERN_TEXTS.items():
        make = partial(custom, {field: text})
        yield Case(f"backtracking: {field}", "POST", f"{OBJECTS}?dryRun=All", make)


def _json_patches() -> Iterator[Case]:
    """Copies that double what was copied: 1.5 kB for gigabytes."""
    start = {"op": "add", "path": "/data/a0", "value": "a" * 100}
    doubled = [{"op": "copy", "from": "/data", "path": f"/data/a{number}"} for number in range(1, 30)]
    into = [{"op": "copy", "from": "/metadata", "path": f"/metadata/a{number}"} for number in range(1, 30)]
    for name, steps in {"data": [start, *doubled], "metadata": into}.items():
        yield Case(f"copy bomb: {name}", "PATCH", f"{MAPS}/large?dryRun=All", partial(list, steps), JSON_PATCH)


def _rules() -> Iterator[Case]:
    """Nested loops over lists without a bound."""
    numbers: Obj = {"type": "array", "items": {"type": "integer"}}
    for depth in (2, 3, 8):
        rule = "true"
        for level in range(depth):
            rule = f"self.all(v{level}, {rule})"
        fields = {"numbers": numbers | {"x-kubernetes-validations": [{"rule": rule}]}}
        yield Case(f"nested rule: {depth}", "POST", f"{DEFINITIONS}?dryRun=All", partial(_renamed, definition(fields)))


def _renamed(obj: Obj) -> Obj:
    names = obj["spec"]["names"] | {"plural": "others", "singular": "other", "kind": "Other", "listKind": "OtherList"}
    return {**obj, "metadata": {"name": f"others.{GROUP}"}, "spec": obj["spec"] | {"names": names}}
