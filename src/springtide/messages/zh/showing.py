# SPDX-License-Identifier: Apache-2.0
"""Lists of jobs, pages of jobs, and what nodes have."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "There are no jobs in namespace {namespace}.": "命名空间 {namespace} 中没有任务。",
    "There are no jobs in any namespace.": "所有命名空间中都没有任务。",
    "There is no job {name} in any namespace.": "所有命名空间中都没有任务 {name}。",
    "There are no events: they are kept for an hour.": "没有事件：事件只保留一小时。",
    "Job {name} was deleted.": "任务 {name} 已被删除。",
    "see all jobs with: {command}": "查看所有任务：{command}",
    "GPUs of all jobs: {taken} allocated, {asked} requested": "所有任务的 GPU：已分配 {taken}，请求 {asked}",
    "GPUs of all nodes: {taken} allocated of {total}{share}": "所有节点的 GPU：共 {total}，已分配 {taken}{share}",
    "There is no node {name}.": "没有节点 {name}。",
    "the nodes are: {names}": "现有节点：{names}",
}
