# SPDX-License-Identifier: Apache-2.0
"""The TensorBoard beside a job."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "TensorBoard has no pod yet.": "TensorBoard 还没有 Pod。",
    "TensorBoard waits: {why}": "TensorBoard 在等待：{why}",
    "TensorBoard waits for a node: {why}": "TensorBoard 在等待节点：{why}",
    "TensorBoard starts.": "TensorBoard 正在启动。",
    "Show a job's TensorBoard on this machine.": "在本机显示任务的 TensorBoard。",
    "TensorBoard answers.": "TensorBoard 已可访问。",
    "TensorBoard of {name}: {url}": "{name} 的 TensorBoard：{url}",
    "It does not answer yet, but will as soon as it can.": "它目前还不能访问，就绪后即可打开。",
    "see it with: {command}": "查看方法：{command}",
    "see the address with: {command}": "查看地址：{command}",
    "The job {name} has no TensorBoard.": "任务 {name} 没有 TensorBoard。",
    "submit it with: {flags}": "提交时加上：{flags}",
    "The TensorBoard of {name} was deleted.": "{name} 的 TensorBoard 已被删除。",
    "Another process is about to forward a port to the TensorBoard of {name}.": (
        "另一个进程正准备把端口转发到 {name} 的 TensorBoard。"
    ),
    "TensorBoard is not shown: {why}": "未能显示 TensorBoard：{why}",
    "try again with: {command}": "重试：{command}",
    "Port {port} cannot be used.": "端口 {port} 不可用。",
    "take any that is free: leave out {option}": "省略 {option}，即使用任意空闲端口",
    "TensorBoard cannot be shown on this machine.": "无法在本机显示 TensorBoard。",
    "TensorBoard cannot be reached: the process that was to forward a port to it has ended.": (
        "无法访问 TensorBoard：负责转发端口的进程已经结束。"
    ),
    "see why: {command}": "查看原因：{command}",
}
