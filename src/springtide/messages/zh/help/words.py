# SPDX-License-Identifier: Apache-2.0
"""Headings, and what click says by itself."""

from __future__ import annotations

from typing import Final

HELP: Final = {
    "Usage:": "用法：",
    "Options": "选项",
    "Commands": "命令",
    "Positional arguments": "参数",
    "Types of jobs": "任务类型",
    "Flags of all types": "所有类型的参数",
    "Example: ": "示例：",
    "Examples:": "示例：",
    "Show this message and exit.": "显示此帮助并退出。",
    "Show the version and exit.": "显示版本并退出。",
    "Language of the messages.  [default: that of the locale]": "提示信息的语言。  [默认：与区域设置一致]",
    "required": "必需",
    "default: ": "默认：",
    "env var: ": "环境变量：",
}
