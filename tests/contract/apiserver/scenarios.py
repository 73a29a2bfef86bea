# SPDX-License-Identifier: Apache-2.0
"""The scenarios of the contract suite, read from `cases/*.yaml`.

A scenario is a list of steps, a step is one request:

    - name: pods                      the scenario; it gets a namespace of its own, written ${ns}
      steps:
        - do: POST /api/v1/namespaces/${ns}/pods?dryRun=All
          as: created                 its name; without one it is numbered
          body: {...}                 sent as JSON (or `text:` for raw text, `size:` for so many bytes of padding)
          type: merge                 json | merge | strategic | apply, or a whole content type
          headers: {Accept: ...}
          user: jane                  impersonated
          anonymous: true             without credentials, but for those in `headers`
          events: 3                   a watch: read so many events and hang up
          until: 200                  repeat until this status comes (what the real server does in the background)
          keep: [a/b]                 of a large answer, compare only these parts
          served: true                of a discovery document, compare only what the embedded server serves
          from: created, change: {...}    the body of that step's answer with a merge patch applied
          base: {...}, cases: {name: merge patch}    one step per case, the patch applied to the base

`${created.metadata.uid}` is a value out of the answer of the step named `created`
(`@{...}` the same as a number). Names of cluster-scoped objects
begin with ${ns} too, so that scenarios do not meet. `kinds.yaml` and `rules.yaml` are different: see `lifecycle` and
`rule_tables`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


@dataclass(frozen=True)
class Step:
    name: str
    method: str
    target: str
    body: Any = None
    text: str | None = None
    size: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    events: int = 0
    until: int = 0
    keep: tuple[str, ...] | None = None
    served: bool = False
    anonymous: bool = False
    source: str = ""
    """The step whose answer is sent back, with `body` as a merge patch on it."""


@dataclass(frozen=True)
class Scenario:
    name: str
    group: str
    steps: tuple[Step, ...]


def merged(base: Any, patch: Any) -> Any:
    """`base` with a JSON merge patch applied."""
    if not isinstance(patch, dict):
        return patch
    result = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def steps_of(described: list[dict[str, Any]]) -> Iterator[Step]:
    for number, step in enumerate(described, 1):
        name = step.get("as") or f"step-{number}"
        if "cases" not in step:
            yield _step(name, step, step.get("change", step.get("body")))
            continue
        for case, patch in step["cases"].items():
            label = f"{name}:{case}" if "as" in step else str(case)
            yield _step(label, step, merged(step["base"], patch))


def _step(name: str, step: dict[str, Any], body: Any) -> Step:
    method, target = step["do"].split(" ", 1)
    headers = {str(key): str(value) for key, value in step.get("headers", {}).items()}
    if "type" in step:
        headers["Content-Type"] = TYPES.get(step["type"], step["type"])
    if "user" in step:
        headers["Impersonate-User"] = step["user"]
    return Step(
        name,
        method,
        target,
        body,
        step.get("text"),
        step.get("size", 0),
        headers,
        step.get("events", 0),
        step.get("until", 0),
        tuple(step["keep"]) if "keep" in step else None,
        step.get("served", False),
        step.get("anonymous", False),
        step.get("from", ""),
    )


@cache
def scenarios() -> dict[str, Scenario]:
    from tests.contract.apiserver.lifecycle import lifecycles
    from tests.contract.apiserver.rule_tables import rule_scenarios

    found: dict[str, Scenario] = {}
    for path in sorted((HERE / "cases").glob("*.yaml")):
        described = yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        if path.stem == "kinds":
            made = list(lifecycles(described))
        elif path.stem == "rules":
            made = list(rule_scenarios(described))
        else:
            made = [
                Scenario(entry["name"], path.stem, tuple(steps_of(entry["steps"])))
                for entry in described
                if "steps" in entry
            ]
        for scenario in made:
            _check_unique(scenario, found)
            found[scenario.name] = scenario
    return found


def _check_unique(scenario: Scenario, found: dict[str, Scenario]) -> None:
    if scenario.name in found:
        raise ValueError(f"two scenarios are called {scenario.name}")
    names = [step.name for step in scenario.steps]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"{scenario.name}: two steps are called {sorted(twice)}")
