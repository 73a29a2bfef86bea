# SPDX-License-Identifier: Apache-2.0
"""Asks the real kube-apiserver what it makes of regular expressions in CRDs, and records its answers for unit tests.

    hack/oracle/control_plane.py --bare run -- .venv/bin/python hack/oracle/record_patterns.py

Patterns it does not compile are asked for one by one; all others together are the fields of one custom resource, whose
objects hold each text in every field, so that the refused fields are those that do not match.
"""

from __future__ import annotations

import json
import os
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parents[2] / "tests/unit/local/schema/recorded_patterns.json"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OBJECTS = "/apis/patterns.example.com/v1/namespaces/default/patterned"


def ask(method: str, path: str, body: Any = None) -> dict[str, Any]:
    request = urllib.request.Request(
        os.environ["SPRINGTIDE_ORACLE_SERVER"] + path,
        None if body is None else json.dumps(body).encode(),
        method=method,
    )
    request.add_header("Authorization", f"Bearer {os.environ['SPRINGTIDE_ORACLE_TOKEN']}")
    request.add_header("Content-Type", "application/json")
    unverified = ssl._create_unverified_context()
    try:
        with urllib.request.urlopen(request, context=unverified) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.loads(error.read())


def definition(patterns: dict[str, str]) -> dict[str, Any]:
    fields = {name: {"type": "string", "pattern": pattern} for name, pattern in patterns.items()}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    names = {"plural": "patterned", "singular": "patterned", "kind": "Patterned", "listKind": "PatternedList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "patterns.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "patterned.patterns.example.com"}, "spec": spec}


def complaint(pattern: str) -> str:
    """Why the pattern is no regular expression; empty if it is one."""
    answer = ask("POST", CRDS + "?dryRun=All", definition({"f": pattern}))
    message = answer.get("message", "")
    return message.partition("but isn't: ")[2] if answer.get("code") == 422 else ""


def matching(patterns: dict[str, str], texts: list[str]) -> dict[str, list[bool]]:
    """For each pattern, whether it matches each text."""
    ask("POST", CRDS, definition(patterns))
    while ask("GET", OBJECTS).get("kind") != "PatternedList":
        time.sleep(0.1)
    found: dict[str, list[bool]] = {name: [] for name in patterns}
    for index, text in enumerate(texts):
        obj = {
            "apiVersion": "patterns.example.com/v1",
            "kind": "Patterned",
            "metadata": {"name": f"text-{index}"},
            "spec": dict.fromkeys(patterns, text),
        }
        answer = ask("POST", OBJECTS + "?dryRun=All", obj)
        causes = answer.get("details", {}).get("causes", [])
        refused = {cause["field"].removeprefix("spec.") for cause in causes}
        for name in patterns:
            found[name].append(name not in refused)
    ask("DELETE", CRDS + "/patterned.patterns.example.com")
    return found


def main() -> None:
    before = json.loads(RECORDED.read_text())
    texts: list[str] = before["texts"]
    complaints = {pattern: complaint(pattern) for pattern in before["patterns"]}
    good = {f"f{index}": pattern for index, pattern in enumerate(before["patterns"]) if not complaints[pattern]}
    answers = matching(good, texts)
    matched = {good[name]: "".join("-+"[each] for each in row) for name, row in answers.items()}
    lines = [
        f"  {json.dumps(pattern, ensure_ascii=False)}: {json.dumps(why or matched[pattern], ensure_ascii=False)}"
        for pattern, why in complaints.items()
    ]
    head = json.dumps(texts, ensure_ascii=False)
    RECORDED.write_text('{"texts": ' + head + ',\n"patterns": {\n' + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    main()
