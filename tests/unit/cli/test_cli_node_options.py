# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from springtide.cli.nodes.node_options import Asked, which_nodes
from springtide.local.supervisor.settings import Nodes


def asked(*arguments: str) -> Asked:
    heard: list[Asked] = []

    @click.command()
    @which_nodes
    def command(asked: Asked) -> None:
        heard.append(asked)

    finished = CliRunner().invoke(command, arguments, standalone_mode=False)
    if finished.exception:
        raise finished.exception
    return heard[0]


def test_without_a_word_there_are_nodes() -> None:
    assert asked().nodes == Nodes()


def test_nodes_are_what_was_asked_for() -> None:
    found = asked("--node", "a=cpu:8,nvidia.com/gpu:4", "--node", "b=spot", "--strict-resources").nodes
    assert found is not None
    assert [node["metadata"]["name"] for node in found.wanted] == ["a", "b"]
    assert found.strict_resources


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--no-nodes"],
        ["--node", "a=cpu:8", "--node", "b"],
        ["--strict-resources", "--fake-gpus", "0", "--isolation", "none"],
        ["--scheduler-name", "x", "--scheduler-name", "y", "--fake-gpus", "4"],
    ],
)
def test_another_command_gets_the_same(arguments: list[str]) -> None:
    first = asked(*arguments)
    assert asked(*first.arguments) == first


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--no-nodes", "--node", "a"], "contradict"),
        (["--node", "a=cpu:much"], "'much' is no amount"),
        (["--node", "a", "--node", "a=cpu:1"], "two nodes named 'a'"),
        (["--isolation", "some"], "'some' is not one of"),
        (["--fake-gpus", "-1"], "-1 is not in the range"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], complaint: str) -> None:
    with pytest.raises(click.UsageError, match=complaint):
        asked(*arguments)
