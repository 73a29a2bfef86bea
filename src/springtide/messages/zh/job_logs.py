# SPDX-License-Identifier: Apache-2.0
"""Logs of jobs, and commands in their pods."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "{pod} has no log yet: {reason}": "{pod} 还没有日志：{reason}",
    "the log of {pod} cannot be read: {reason}": "无法读取 {pod} 的日志：{reason}",
    "Job {name} has no container {container}.": "任务 {name} 没有容器 {container}。",
    "its containers: {names}": "它的容器：{names}",
    "Job {name} has no logs yet.": "任务 {name} 还没有日志。",
    "see why with: {command}": "查看原因：{command}",
    "Job {name} has no pod {pod} with a log.": "任务 {name} 没有名为 {pod} 且有日志的 Pod。",
    "Job {name} has no rank {rank} with a log.": "任务 {name} 没有编号为 {rank} 且有日志的 rank。",
    "its pods: {names}": "它的 Pod：{names}",
    "Job {name} was deleted.": "任务 {name} 已被删除。",
    "Job {name} was deleted; these are its logs that were kept.": "任务 {name} 已被删除；以下是保留下来的日志。",
    "Job {name} has no pods.": "任务 {name} 没有 Pod。",
    "Job {name} has no pod {pod}.": "任务 {name} 没有名为 {pod} 的 Pod。",
    "Job {name} has {number} pods, and none of them is its chief.": "任务 {name} 有 {number} 个 Pod，其中没有 chief。",
    "choose one with {option}: {names}": "请用 {option} 选择一个：{names}",
    "Pod {pod} is not running: {status}": "Pod {pod} 不在运行：{status}",
    "Pod {pod} has no container {container}.": "Pod {pod} 没有容器 {container}。",
}
