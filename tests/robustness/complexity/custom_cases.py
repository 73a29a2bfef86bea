# SPDX-License-Identifier: Apache-2.0
"""A custom resource with a field for every format, list type, map type and validation, and ways to try them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.robustness.complexity.cases import DEEP, LONG, MANY, TEXTS, Case, Obj, long_text
from tests.robustness.complexity.rule_cases import rule_fields, rule_values

from springtide.local.schema.formats import FORMATS

VOLUMES = 10_000
_TEXTS_PER_RULE = 2
"""Each is created, patched and applied; the unit tests of the functions try more."""
GROUP = "complexity.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OBJECTS = f"/apis/{GROUP}/v1/namespaces/tried/tries"
STRING: Obj = {"type": "string"}
PRESERVING: Obj = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
PAIR: Obj = {"type": "object", "properties": {"k": STRING, "v": STRING}, "required": ["k"]}
PATTERNS = ("^(a+)+$", "(x?){1000}y", "(a|b)*a(a|b){12}c", r"^[\p{L}\p{N} ]{1,253}$", "(.*)(.*)(.*)x", "^a{0,1000}$")


def _strings() -> dict[str, Obj]:
    found = {f"format-{name}": STRING | {"format": name} for name in FORMATS}
    found |= {f"pattern-{index}": STRING | {"pattern": pattern} for index, pattern in enumerate(PATTERNS)}
    found["enum"] = STRING | {"enum": ["a", "b"]}
    found["length"] = STRING | {"maxLength": 10}
    found["any-of"] = STRING | {"anyOf": [{"pattern": "^a*$"}, {"format": "email"}]}
    found["int-or-string"] = {"x-kubernetes-int-or-string": True}
    return found


def _lists() -> dict[str, Obj]:
    strings: Obj = {"type": "array", "items": STRING}
    pairs: Obj = {"type": "array", "items": PAIR}
    either = {"anyOf": [{"required": ["v"]}, {"required": ["w"]}]}
    return {
        "atomic": strings,
        "set": strings | {"x-kubernetes-list-type": "set"},
        "wrong": {"type": "array", "items": {"type": "integer"}},
        "short": strings | {"maxItems": 10},
        "map-list": pairs | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
        "choices": {"type": "array", "items": PAIR | either},
        "rules": pairs | {"x-kubernetes-validations": [{"rule": "size(self) < 1000000"}]},
    }


def _maps() -> dict[str, Obj]:
    free: Obj = {"type": "object", "additionalProperties": STRING}
    return {
        "granular": free,
        "atomic-map": free | {"x-kubernetes-map-type": "atomic"},
        "nothing": {"type": "object", "properties": {}},
        "preserving": PRESERVING,
        "embedded": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    }


def definition(fields: dict[str, Obj] | None = None) -> Obj:
    known = _strings() | _lists() | _maps() | rule_fields() if fields is None else fields
    part = {"type": "object", "properties": known}
    schema = {"type": "object", "properties": {"spec": part, "status": PRESERVING if fields is None else part}}
    names = {"plural": "tries", "singular": "try", "kind": "Try", "listKind": "TryList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    version["subresources"] = {"status": {}}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": f"tries.{GROUP}"}, "spec": spec}


def custom(spec: Obj) -> Obj:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Try", "metadata": {"name": "tried"}, "spec": spec}


def custom_values() -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Field, name of the value, value."""
    for name in _strings():
        for text, sign in TEXTS.items():
            yield name, text, lambda sign=sign: long_text(sign)  # type: ignore[misc]
    for name, schema in _lists().items():
        pairs = schema["items"].get("type") == "object"
        yield name, "repeated", lambda pairs=pairs: [{"k": "a"} if pairs else "a"] * MANY  # type: ignore[misc]
        yield name, "distinct", lambda pairs=pairs: [{"k": f"{n}"} if pairs else f"{n}" for n in range(MANY)]  # type: ignore[misc]
        yield name, "nulls", lambda: [None] * MANY
    for name in _maps():
        yield name, "entries", lambda: {f"key-{index}": "a" for index in range(MANY)}
        yield name, "wrong entries", lambda: {f"key-{index}": [index] for index in range(MANY)}
        yield name, "long key", lambda: {"a" * LONG: {"b": [{}] * 1000}}
        yield name, "deep", _deep

    texts = [text for _, text in rule_values()]
    for number, name in enumerate(rule_fields()):
        for step in range(_TEXTS_PER_RULE):
            text = texts[(number + step * len(texts) // _TEXTS_PER_RULE) % len(texts)]
            yield name, f"text {step}", lambda text=text: text  # type: ignore[misc]


def _deep() -> Any:
    value: Any = 1
    for _ in range(DEEP):
        value = {"a": value, "b": [value] if value == 1 else 1}
    return value


def custom_cases() -> Iterator[Case]:
    for field, name, value in custom_values():
        make = lambda field=field, value=value: custom({field: value()})  # noqa: E731
        yield Case(f"custom {field}: {name}", "POST", f"{OBJECTS}?dryRun=All&fieldValidation=Ignore", make)
        patch = lambda field=field, value=value: {"spec": {field: value()}}  # noqa: E731
        yield Case(
            f"merge patch {field}: {name}", "PATCH", f"{OBJECTS}/base?dryRun=All&fieldValidation=Ignore", patch, MERGE
        )
        apply = f"{OBJECTS}/applied?dryRun=All&fieldManager=a&force=true"
        yield Case(f"apply {field}: {name}", "PATCH", apply, make, "application/apply-patch+yaml")
    large = [f"a{number}[\\pL\\pN]{{100}}" for number in range(200)]
    fields = {f"f{number}": STRING | {"pattern": pattern} for number, pattern in enumerate(large)}
    yield Case("definition: large patterns", "POST", f"{DEFINITIONS}?dryRun=All", lambda: definition(fields))
    many = {f"f{number}": STRING | {"pattern": f"^a{number}$"} for number in range(20_000)}
    yield Case("definition: many patterns", "POST", f"{DEFINITIONS}?dryRun=All", lambda: definition(many))


MAPS = "/api/v1/namespaces/tried/configmaps"
PODS = "/api/v1/namespaces/tried/pods"
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def patch_cases() -> Iterator[Case]:
    """Patches of a ConfigMap with 20,000 entries and of a pod with 10,000 volumes."""
    steps: dict[str, Callable[[int], Obj]] = {
        "add": lambda n: {"op": "add", "path": f"/data/x{n}", "value": "a"},
        "remove": lambda n: {"op": "remove", "path": f"/data/key-{n}"},
        "replace": lambda n: {"op": "replace", "path": f"/data/key-{n}", "value": "b"},
        "move": lambda n: {"op": "move", "from": f"/data/key-{n}", "path": f"/data/y{n}"},
        "copy": lambda n: {"op": "copy", "from": "/data/key-1", "path": f"/data/z{n}"},
        "test": lambda n: {"op": "test", "path": f"/data/key-{n}", "value": "a"},
        "copy into itself": lambda n: {"op": "copy", "from": "/metadata", "path": f"/metadata/{n}"},
        "long path": lambda n: {"op": "add", "path": "/data" * 40, "value": n},
    }
    for name, step in steps.items():
        make = lambda step=step: [step(number) for number in range(10_000)]  # noqa: E731
        yield Case(f"JSON patch: {name}", "PATCH", f"{MAPS}/large?dryRun=All", make, JSON_PATCH)
    yield Case(
        "JSON patch: test everything",
        "PATCH",
        f"{MAPS}/large?dryRun=All",
        lambda: [{"op": "test", "path": "/data", "value": {"key-1": "a"}}] * 10_000,
        JSON_PATCH,
    )
    volumes = [{"name": f"v-{number}"} for number in range(VOLUMES)]
    gone = [volume | {"$patch": "delete"} for volume in volumes]
    more = [{"name": f"w-{number}", "emptyDir": {}} for number in range(VOLUMES)]
    for name, patch in {
        "merged": {"volumes": volumes},
        "deleted": {"volumes": gone},
        "replaced": {"volumes": [*more, {"$patch": "replace"}]},
        "added": {"volumes": more},
        "ordered": {"$setElementOrder/volumes": volumes, "volumes": volumes},
        "retained": {"$retainKeys": [f"k{number}" for number in range(MANY)], "volumes": []},
    }.items():
        make_patch = lambda patch=patch: {"spec": patch}  # noqa: E731
        yield Case(f"strategic patch: {name}", "PATCH", f"{PODS}/large?dryRun=All", make_patch, STRATEGIC)
    keys = {f"k{number}": None for number in range(MANY)}
    yield Case("merge patch: removals", "PATCH", f"{MAPS}/large?dryRun=All", lambda: {"data": keys}, MERGE)
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": f"p{n}", "uid": "u", "controller": True} for n in range(3000)]
    meta = {"metadata": {"name": "x", "ownerReferences": owners}}
    yield Case("owners: many controllers", "POST", f"{MAPS}?dryRun=All", lambda: meta)
    yield Case("update: many controllers", "PUT", f"{MAPS}/large?dryRun=All", lambda: _renamed(meta))
    fields: Obj = {"f:data": {f"f:k{number}": {} for number in range(MANY)}}
    entry = {"manager": "a", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
    tracked = {"metadata": {"name": "x", "managedFields": [entry | {"manager": f"m{n}"} for n in range(2)]}}
    yield Case("managed fields", "POST", f"{MAPS}?dryRun=All", lambda: tracked)
    for name, text in {
        "flow": "a: [" + "1," * 40_000 + "]",
        "block": "data:\n" + "".join(f"  k{number}: a\n" for number in range(40_000)),
        "aliases": "a: &a [1,2,3]\nb: [" + "*a," * 10_000 + "]",
    }.items():
        raw = text.encode()
        yield Case(f"YAML: {name}", "POST", f"{MAPS}?dryRun=All", lambda raw=raw: raw, "application/yaml")  # type: ignore[misc]
    twice = b'{"metadata":{"name":"x"},"data":{' + b",".join(b'"k%d":"a"' % (n % 100) for n in range(100_000)) + b"}}"
    yield Case("duplicate keys", "POST", f"{MAPS}?dryRun=All&fieldValidation=Strict", lambda: twice)


def _renamed(obj: Obj) -> Obj:
    return {**obj, "metadata": obj["metadata"] | {"name": "large"}}


def selector_cases() -> Iterator[Case]:
    """Over 500 ConfigMaps; 10,000 terms each."""
    terms = {
        "equal": ",".join(["a=b"] * 10_000),
        "distinct": ",".join(f"k{number}!=b" for number in range(10_000)),
        "in": "a in (" + ",".join(f"v{number}" for number in range(10_000)) + ")",
        "not in": "a notin (" + ",".join(f"v{number}" for number in range(10_000)) + ")",
        "absent": ",".join(f"!k{number}" for number in range(10_000)),
        "signs": "(" * 50_000,
        "blanks": "a" + " " * 100_000 + "=b",
        "long": "a=" + "b" * 100_000,
    }
    for name, text in terms.items():
        for method, verb in (("GET", "list"), ("DELETE", "deletecollection")):
            query = f"?labelSelector={text.replace(' ', '%20').replace('!', '%21')}&dryRun=All"
            yield Case(f"{verb} labels: {name}", method, MAPS + query, bytes)
    fields = {
        "names": ",".join(["metadata.name!=x"] * 10_000),
        "unknown": ",".join(f"a{number}=b" for number in range(10_000)),
        "escapes": "metadata.name=" + "%5C," * 20_000,
        "signs": "=" * 50_000,
    }
    for name, text in fields.items():
        yield Case(f"list fields: {name}", "GET", f"{MAPS}?fieldSelector={text}", bytes)


_WATCHED = ("equal", "in", "absent")


def watch_cases() -> Iterator[Case]:
    """Each watch ends after a second."""
    for case in selector_cases():
        if case.method == "GET" and case.id.rpartition(": ")[2] in _WATCHED:
            yield case._replace(id=f"watch {case.id}", path=f"{case.path}&watch=true&timeoutSeconds=1")


def prepared() -> Iterator[tuple[str, Obj]]:
    """What must be there before: paths and objects."""
    yield DEFINITIONS, json.loads(json.dumps(definition()))
    entries = {f"key-{number}": "a" for number in range(MANY)}
    yield MAPS, {"metadata": {"name": "large"}, "data": entries}
    volumes = [{"name": f"v-{number}", "emptyDir": {}} for number in range(VOLUMES)]
    pod = {"containers": [{"name": "c", "image": "i"}], "volumes": volumes}
    yield PODS, {"metadata": {"name": "large"}, "spec": pod}
    for number in range(500):
        yield MAPS, {"metadata": {"name": f"m{number}", "labels": {"a": "b"}}}
