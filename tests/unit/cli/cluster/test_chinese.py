# SPDX-License-Identifier: Apache-2.0
"""Commands about clusters and nodes speak the language of `--lang`, and a cluster's log is English in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from springtide.cli.app import tide
from springtide.cli.cluster import background, foreground
from springtide.cli.cluster.background import Starter
from springtide.cli.options import chosen


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("XDG_DATA_HOME", "XDG_STATE_HOME", "KUBECONFIG"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("status --name lab", 3, "集群 lab 从未在 "),
        ("down --name lab", 0, "集群 lab 从未在 "),
        ("kubeconfig --name lab", 1, "启动："),
        ("delete --cluster --name lab", 0, "没有删除任何内容。"),
        ("node list --name lab", 1, "启动："),
        ("node ls", 2, "您是指 list 吗？"),
        ("node drain a --timeout soon", 2, "不是时长"),
        ("up --no-nodes --node a", 2, "不能同时使用"),
        ("up --name Lab", 2, "请使用小写字母"),
    ],
)
def test_commands_speak_chinese(command: str, code: int, said: str) -> None:
    finished = CliRunner().invoke(tide, ["--lang=zh", *command.split()])
    assert finished.exit_code == code
    assert said in finished.output


@pytest.mark.parametrize(("options", "passed"), [(["--lang=zh"], ["--lang=zh", "up"]), ([], ["up"])])
def test_a_cluster_in_the_background_reports_in_the_language_of_the_command(
    monkeypatch: pytest.MonkeyPatch, options: Sequence[str], passed: Sequence[str]
) -> None:
    seen: list[str] = []

    def start(arguments: Sequence[str], log: Path) -> tuple[int, list[str]]:
        seen.extend(arguments)
        raise background.FailedError("no")

    monkeypatch.setattr(background, "start", start)
    assert CliRunner().invoke(tide, [*options, "up", "-d", "--no-nodes"]).exit_code == 1
    assert seen[: len(passed)] == passed


def test_the_log_of_a_cluster_is_english(monkeypatch: pytest.MonkeyPatch) -> None:
    async def supervise(*_: object) -> None:
        raise OSError(28, "No space left on device")

    told: list[str] = []
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    monkeypatch.setattr(foreground, "supervise", supervise)
    monkeypatch.setattr(Starter, "told", lambda _, said: told.append(said))
    monkeypatch.setattr(Starter, "found", lambda: Starter.__new__(Starter))
    with pytest.raises(click.ClickException, match=r"the disk that holds .* is full"):
        foreground.run(chosen("lab", None), None, None, audit=False, operator=False, accept_loss=False)
    assert told[0].splitlines()[0].endswith("所在的磁盘已满")
