# SPDX-License-Identifier: Apache-2.0
"""The real server's answers, kept so that the suite needs no real server.

make record        plays every scenario on the real server and rewrites `recorded/`
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from tests.contract.apiserver.normal import normalised
from tests.contract.apiserver.playing import Player
from tests.contract.apiserver.scenarios import Scenario, scenarios
from tests.contract.apiserver.servers import Server, oracle

RECORDED = Path(__file__).parent / "recorded"


def played(scenario: Scenario, server: Server) -> dict[str, Any]:
    player = Player(server)
    return normalised(scenario, player.namespace, player.play(scenario))


@cache
def _group(group: str) -> dict[str, Any]:
    path = RECORDED / f"{group}.json"
    recorded: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return recorded


def recorded(scenario: Scenario) -> dict[str, Any]:
    """What the real server answered when it was last asked."""
    answers: dict[str, Any] | None = _group(scenario.group).get(scenario.name)
    if answers is None:
        raise RuntimeError(f"{scenario.name} is not recorded: run `make record`")
    return answers


def write(group: str, answers: dict[str, dict[str, Any]]) -> None:
    """A line per step: a changed answer is a changed line."""
    blocks = []
    for name, steps in answers.items():
        lines = [f"  {json.dumps(step)}: {_compact(answer)}" for step, answer in steps.items()]
        blocks.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
    (RECORDED / f"{group}.json").write_text("{\n" + ",\n".join(blocks) + "\n}\n")


def _compact(answer: Any) -> str:
    return json.dumps(answer, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def main(only: list[str]) -> None:
    server = oracle()
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    for scenario in scenarios().values():
        if only and scenario.group not in only:
            continue
        groups.setdefault(scenario.group, {})[scenario.name] = played(scenario, server)
    for group, answers in groups.items():
        write(group, answers)
        print(f"{group}: {len(answers)} scenarios, {sum(map(len, answers.values()))} requests")


if __name__ == "__main__":
    main(sys.argv[1:])
