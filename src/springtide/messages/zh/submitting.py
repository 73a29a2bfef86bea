# SPDX-License-Identifier: Apache-2.0
"""Submitting and deleting jobs."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "The job {name} exists.": "任务 {name} 已存在。",
    "delete it first, or choose another name: {command}": "请先删除该任务，或换一个名称：{command}",
    "The job {name} exists in part: there is its ConfigMap {config_map}.": (
        "任务 {name} 只提交了一部分：它的 ConfigMap {config_map} 还在。"
    ),
    "an earlier submission was interrupted, or another one is in progress": (
        "之前的一次提交被中断，或另一次提交正在进行"
    ),
    "delete what is left of it: {command}": "删除残留的部分：{command}",
    "{object} exists, and is not of this job.": "{object} 已存在，且不属于该任务。",
    "delete it if nothing needs it, or choose another name for the job": (
        "如果没有别的程序需要它，请将其删除；或为任务换一个名称"
    ),
    "The job {name} is another user's.": "任务 {name} 属于另一个用户。",
    "users of this namespace are separated": "此命名空间的用户相互隔离",
}
