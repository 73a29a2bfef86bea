# SPDX-License-Identifier: Apache-2.0
"""Tables of CRDs and objects whose rules are cheap or expensive: `rules.yaml` gives the rules, this the requests.

An entry of the file is a scenario of one of two kinds:

    - name: rule-budgets
      crds:                 each is created in a dry run
        cheap: {fields: {s: {type: string}}, rules: ["self.s == 'a'"]}
    - name: rule-costs
      kinds:                fields of one CRD, each with its own rules
        matches: {fields: {s: {type: string, maxLength: 1000}}, rules: [...]}
      objects:              each is created in a dry run with one of the fields; PADDING in it stands for `size` letters
        few: {kind: matches, size: 10, value: {s: PADDING}}

`fields` are those of an object that has the `rules`; a rule is a text, or a mapping as in a CRD. In a text `<*3 ab*>`
stands for `ababab`, among values `{repeat: 1, times: 3}` for `[1, 1, 1]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.contract.apiserver.scenarios import Scenario, Step

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_REPEATED = re.compile(r"<\*(\d+) (.*?)\*>", re.DOTALL)


def rule_scenarios(described: list[dict[str, Any]]) -> Iterator[Scenario]:
    for entry in described:
        steps = _creations(entry["crds"]) if "crds" in entry else _evaluations(entry)
        yield Scenario(entry["name"], "rules", tuple(steps))


def _creations(crds: dict[str, Any]) -> Iterator[Step]:
    for name, part in crds.items():
        yield Step(name, "POST", f"{CRDS}?dryRun=All", _crd({"spec": _schema(part)}), keep=("kind",))


def _evaluations(entry: dict[str, Any]) -> Iterator[Step]:
    fields = {name: _schema(part) for name, part in entry["kinds"].items()}
    yield Step("create", "POST", CRDS, _crd(fields), keep=("kind",))
    things = "/apis/${ns}.example.com/v1/namespaces/${ns}/things"
    yield Step("ready", "GET", things, until=200, keep=("kind",))
    for name, obj in entry["objects"].items():
        body: dict[str, Any] = {"apiVersion": "${ns}.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
        body[obj["kind"]] = {field: _repeated(value) for field, value in obj["value"].items()}
        yield Step(name, "POST", f"{things}?dryRun=All", body, size=obj.get("size", 0), keep=("kind",))


def _schema(part: dict[str, Any]) -> dict[str, Any]:
    rules = [rule if isinstance(rule, dict) else {"rule": rule} for rule in part.get("rules", ())]
    written = [{key: _expanded(value) for key, value in rule.items()} for rule in rules]
    schema = {"type": "object", "properties": part["fields"]}
    return {**schema, "x-kubernetes-validations": written} if written else schema


def _repeated(value: Any) -> Any:
    return [value["repeat"]] * value["times"] if isinstance(value, dict) else value


def _expanded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return _REPEATED.sub(lambda found: found[2] * int(found[1]), value)


def _crd(properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.${ns}.example.com"},
        "spec": {
            "group": "${ns}.example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
