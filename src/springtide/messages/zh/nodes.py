# SPDX-License-Identifier: Apache-2.0
"""Commands that show, add, drain, remove and reclaim nodes, and the options about nodes."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "--no-nodes and --node contradict each other": "--no-nodes 与 --node 不能同时使用",
    "--node: there are two nodes named {name!r}": "--node：有两个节点都名为 {name}",
    "There are no nodes.\nAdd one with: {command}": "没有节点。\n添加一个：{command}",
    "there is no node {name!r}\nNodes: {known}": "没有节点 {name}\n现有节点：{known}",
    "none": "无",
    # Adding and removing
    "there is a node {name!r} already\nRemove it first: {command}": "节点 {name} 已存在\n请先移除它：{command}",
    "Node {name!r} is added.": "节点 {name} 已添加。",
    "Node {name!r} is ready.": "节点 {name} 已就绪。",
    "node {name!r} is not ready after {span}\nIts agent's log is {log}": (
        "节点 {name} 在 {span} 后仍未就绪\n其 agent 的日志：{log}"
    ),
    "Node {name!r} is removed.": "节点 {name} 已移除。",
    "\nOr remove it at once: {command}": "\n或立即移除它：{command}",
    # Draining
    "Node {name!r} takes no new pods.": "节点 {name} 不再接受新的 Pod。",
    "Node {name!r} takes pods again.": "节点 {name} 重新接受 Pod。",
    "Node {name!r} is drained.": "节点 {name} 已排空。",
    "no controller would create these pods again: {pods}\n"
    "Evict them nevertheless with --force, or let the node take pods again: {command}": (
        "没有控制器会重新创建这些 Pod：{pods}\n用 --force 仍然驱逐它们，或让节点重新接受 Pod：{command}"
    ),
    "{pod} must wait: {why}": "{pod} 需要等待：{why}",
    "{pod} is evicted": "{pod} 已被驱逐",
    "{pod} is replaced by its job before it is deleted": "{pod} 先由其任务替换，再被删除",
    "{pod} is gone": "{pod} 已消失",
    "node {name!r} still has pods: {pods}{reasons}\n"
    "It takes no new ones. Go on with: {again}, or let it take pods again: {free}": (
        "节点 {name} 上仍有 Pod：{pods}{reasons}\n它不再接受新的 Pod。继续排空：{again}，或让它重新接受 Pod：{free}"
    ),
    # Reclaiming
    "node {name!r} is not one of this machine's, so it cannot be reclaimed": "节点 {name} 不是本机的节点，无法回收",
    "Node {name!r} will be gone in {span}.": "节点 {name} 将在 {span} 后消失。",
    "  {span} left, {pods}": "  还剩 {span}，{pods}",
    "node {name!r} should be gone but is not\nThe log is {log}": "节点 {name} 应已消失但仍存在\n日志：{log}",
    "Node {name!r} is gone, and {pods} with it.": "节点 {name} 已消失，{pods}随之消失。",
}
