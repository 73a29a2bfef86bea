# SPDX-License-Identifier: Apache-2.0
"""Wrong command lines."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "Error: {message}": "错误：{message}",
    "Aborted!": "已中止！",
    "Try '{command} {option}' for help.": "帮助请见 '{command} {option}'。",
    "Could not open file {file!r}: {message}": "无法打开文件 {file!r}：{message}",
    "No such option {name!r}.": "没有选项 {name!r}。",
    "No such command {name!r}.": "没有命令 {name!r}。",
    "No such command {name!r}. Did you mean {meant}?": "没有命令 {name!r}。您是否想用 {meant}？",
    "{one} or {other}": "{one} 或 {other}",
    "Did you mean {names}?": "您是否想用 {names}？",
    "Missing argument {name}.": "缺少参数 {name}。",
    "Missing option {name}.": "缺少选项 {name}。",
    "Missing parameter {name}.": "缺少参数 {name}。",
    "Choose from: {choices}": "可选：{choices}",
    "Invalid value for {name}: {why}": "{name} 的值无效：{why}",
    "Invalid value: {why}": "值无效：{why}",
    # Unexpected failures
    "Error: {program} failed unexpectedly: {what}": "错误：{program} 意外失败：{what}",
    "The details are in {log}": "详细信息见 {log}",
    # Options of commands on jobs
    "{value!r}: write NAME=VALUE": "{value!r}：请写成 NAME=VALUE",
    "{value!r} is no regular expression: {error}": "{value!r} 不是正则表达式：{error}",
    "{value!r} is no time; write it like 2026-01-31T12:00:00Z": (
        "{value!r} 不是时间；请写成 2026-01-31T12:00:00Z 的形式"
    ),
    "--since and --since-time exclude each other.": "--since 与 --since-time 不能同时使用。",
    "--follow and --previous exclude each other: earlier attempts have ended.": (
        "--follow 与 --previous 不能同时使用：之前的运行已经结束。"
    ),
    "-w shows a table: leave out -o": "-w 显示表格：请去掉 -o",
    "-w shows a table: leave out -o, or ask for -o wide": "-w 显示表格：请去掉 -o，或使用 -o wide",
    "-w and --live show the page: leave out -o": "-w 和 --live 显示页面：请去掉 -o",
    "{value!r} is none of {forms}": "{value!r} 不在可选的 {forms} 之中",
    # `tide submit TYPE --help`
    "Create a job of type {type}, as `arena submit {type}` does.": (
        "创建 {type} 类型的任务，与 `arena submit {type}` 相同。"
    ),
    "Flags of {type}": "{type} 的参数",
    # Examples
    "a training job of two workers that can be resized while it trains; about a minute": (
        "两个 worker 的训练任务，训练中可改变规模；约一分钟"
    ),
    # Completion
    "$SHELL does not name a shell that is known\nSay which one: {shells}": (
        "$SHELL 不是已知的 shell\n请指明：{shells}"
    ),
}

TEMPLATES: Final = {
    "'{value:q}' is not '{choice:w}'": "'{value}' 不是 '{choice}'",
    "{value:q} is not one of {choices}": "{value} 不在可选值 {choices} 之中",
    "{value:q} is not a valid {type}": "{value} 不是有效的{type}",
    "{value:q} is not in the range {range}": "{value} 不在范围 {range} 内",
    "[File|Path|Directory] {name:q} does not exist": "{name} 不存在",
    "[File|Path|Directory] {name:q} is a file": "{name} 是文件",
    "[File|Path|Directory] {name:q} is a directory": "{name} 是目录",
    "[File|Path|Directory] {name:q} is not readable": "{name} 不可读",
    "[File|Path|Directory] {name:q} is not writable": "{name} 不可写",
    "Option {name:w} requires an argument": "选项 {name} 需要一个值",
    "Option {name:w} requires {number:d} arguments": "选项 {name} 需要 {number} 个值",
    "Option {name:w} does not take a value": "选项 {name} 不接受值",
    "Got unexpected extra [argument|arguments] ({words:q})": "多余的参数：{words}",
    "Missing command": "缺少命令",
    "integer": "整数",
    "integer range": "整数",
    "float": "数字",
    "float range": "数字",
}
"""Of click's messages without fields. They are recognised as `springtide.messages.recorded` says."""
