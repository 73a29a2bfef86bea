# SPDX-License-Identifier: Apache-2.0
"""Pages of help and errors of usage in Chinese; nothing changes in English."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from springtide.cli.app import tide
from springtide.cli.command_table import COMMANDS
from springtide.cli.help_pages import in_chinese, paragraphs, translated
from springtide.cli.tide_jobs.submitting.submit import TYPES
from springtide.cli.tide_jobs.submitting.submit_type import command_of
from springtide.messages.zh.help import HELP, words
from springtide.views.pages.tables import display_width

HAN = re.compile("[\u4e00-\u9fff]")


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: str) -> None:
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG", "KUBECONFIG", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    for word, each in getattr(command, "commands", {}).items():
        yield from commands(each, f"{name} {word}")


def all_commands() -> Iterator[tuple[str, click.Command]]:
    for name, entry in COMMANDS.items():
        module, _, attribute = entry.place.partition(":")
        yield from commands(getattr(importlib.import_module(f"springtide.cli.{module}"), attribute), name)


ALL = dict(all_commands())


def texts(command: click.Command) -> Iterator[str]:
    for page in (command.help, command.epilog):
        for each in paragraphs(inspect.cleandoc(page or "")):
            if each and not each.startswith(("\b", "Example: ")):
                yield each
    for param in command.params:
        if found := getattr(param, "help", None):
            yield found


@pytest.mark.parametrize("name", ALL)
def test_every_text_of_help_has_a_translation(name: str) -> None:
    assert [each for each in texts(ALL[name]) if each not in HELP] == []


def test_translations_are_chinese_and_of_texts_that_exist() -> None:
    assert [each for each, said in HELP.items() if not HAN.search(said)] == []
    used = {found for command in ALL.values() for found in texts(command)}
    lines = " ".join(f"{each.epilog} {each.help}" for each in ALL.values())
    used |= {about for _, about in TYPES.values()}
    used |= {each.split("  [")[0] for name in TYPES for each in texts(command_of(name))}
    assert [each for each in HELP if each not in used and each not in words.HELP and each not in lines] == []


@pytest.mark.parametrize("name", TYPES)
def test_flags_of_types_of_jobs_have_translations(name: str) -> None:
    english = [each for each in texts(command_of(name)) if not HAN.search(translated(each))]
    assert english == [f"Create a job of type {name}, as `arena submit {name}` does."]  # which is said by the page
    page = CliRunner().invoke(tide, ["--lang", "zh", "submit", name, "--help"]).output
    assert f"创建 {name} 类型的任务" in page
    assert f"\n{name} 的参数：\n" in page


@pytest.mark.parametrize("name", ALL)
def test_chinese_pages_fit_the_terminal(name: str) -> None:
    page = CliRunner().invoke(tide, ["--lang", "zh", *name.split(), "--help"], prog_name="tide").output
    assert page.startswith("用法：tide ")
    assert "选项：\n" in page
    wide = [line for line in page.splitlines() if display_width(line) > 80]
    assert [line for line in wide if " tide " not in line and not re.search(r"\S{50}", line)] == []


def test_a_command_itself_stays_english() -> None:
    command = ALL["list"]
    assert in_chinese(command) is not command
    assert "Usage: list" in command.get_help(click.Context(command, info_name="list"))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Time until it is gone.  [default: 30s]", "距节点消失的时间。  [默认：30s]"),
        ("Workers to begin with.  [default: 2]  [x>=1]", "初始 worker 数。  [默认：2]  [x>=1]"),
        ("Nobody wrote this.", "Nobody wrote this."),
        ("Example: tide whoami -o json", "示例：tide whoami -o json"),
        ("\b\nExamples:\n  tide list -A   no remark", "\b\n示例：\n  tide list -A   no remark"),
    ],
)
def test_what_click_adds_is_translated_by_itself(given: str, expected: str) -> None:
    assert translated(given) == expected


@pytest.mark.parametrize(
    ("line", "english", "chinese"),
    [
        ("--nothing", "No such option '--nothing'.", "没有选项 '--nothing'。"),
        ("lst", "No such command 'lst'. Did you mean 'list'?", "没有命令 'lst'。您是否想用 'list'？"),
        ("start", "No such command 'start'. Did you mean 'up' or 'resume'?", "您是否想用 'up' 或 'resume'？"),
        ("get", "Missing argument 'JOB'.", "缺少参数 'JOB'。"),
        ("scale bert", "Missing option '--workers'.", "缺少选项 '--workers'。"),
        ("whoami extra", "Got unexpected extra argument (extra)", "多余的参数：extra"),
        ("whoami -o yaml", "Invalid value for '-o' / '--output': 'yaml'", "'-o' / '--output' 的值无效："),
        ("whoami -o yaml", "'yaml' is not 'json'.", "'yaml' 不是 'json'。"),
        (
            "completion csh",
            "'csh' is not one of",
            "'csh' 不在可选值 'bash', 'zsh', 'fish' 之中。",
        ),
        ("run --gpus x -- a", "'x' is not a valid integer range.", "'x' 不是有效的整数。"),
        ("whoami -o", "Option '-o' requires an argument.", "选项 '-o' 需要一个值。"),
        ("logs bert --grep (", "'(' is no regular expression: missing )", "'(' 不是正则表达式：missing )"),
        ("env shw", "No such command 'shw'. Did you mean 'show'?", "没有命令 'shw'。您是否想用 'show'？"),
    ],
)
def test_wrong_lines_are_explained_in_either_language(line: str, english: str, chinese: str) -> None:
    plain, translated_ = (
        CliRunner().invoke(tide, [*options, *line.split()], prog_name="tide") for options in ((), ("--lang", "zh"))
    )
    assert english in plain.output
    assert not HAN.search(plain.output)
    assert chinese in translated_.output
    assert plain.exit_code == translated_.exit_code == 2
    assert translated_.output.startswith("用法：tide") is plain.output.startswith("Usage: tide")
    assert ("--help'。\n\n错误：" in translated_.output) is ("--help' for help.\n\nError: " in plain.output)


@pytest.mark.parametrize("line", ["--nothing --lang zh", "--lang=zh --nothing", "--lang en --lang=zh --nothing list"])
def test_the_language_counts_wherever_it_stands_before_the_command(line: str) -> None:
    assert "错误：没有选项 '--nothing'" in CliRunner().invoke(tide, line.split(), prog_name="tide").output
    assert "Error: " in CliRunner().invoke(tide, ["--nothing", "list", "--lang", "zh"], prog_name="tide").output
