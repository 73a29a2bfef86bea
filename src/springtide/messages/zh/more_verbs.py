# SPDX-License-Identifier: Apache-2.0
"""Commands that delete jobs, prune them, and show volumes and users."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "Job {name} is deleted.": "任务 {name} 已删除。",
    "Delete {jobs}? It has not finished.": "删除 {jobs}？它尚未结束。",
    "Delete {number} jobs? Not finished: {jobs}.": "删除 {number} 个任务？尚未结束的有：{jobs}。",
    "Nothing is named that is to be deleted.": "没有指定要删除的内容。",
    "{options} is about jobs, and {option} is not.": "{options} 针对任务，而 {option} 不是。",
    "{options} is about an embedded cluster, not about jobs.": "{options} 针对内嵌集群，而不是任务。",
    # Submitting by flags
    "--{old} is an old name of --{new}.": "--{old} 是 --{new} 的旧名称。",
    "--{flag} is missing.": "缺少 --{flag}。",
    "The flags cannot be read.": "无法解析参数。",
    "{word} is no type of jobs.": "{word} 不是任务类型。",
    "submit a manifest with: {command}": "提交清单：{command}",
    "Nothing is named that is to be submitted.": "没有指定要提交的内容。",
    "a manifest: {manifest}; a job by flags: {flags}": "提交清单：{manifest}；用参数描述任务：{flags}",
    "Options of {type} stand after it.": "{type} 的选项应写在它之后。",
    "write: {command}": "请写成：{command}",
    "--{flag} is one of {choices}.": "--{flag} 的取值是 {choices} 之一。",
    "write it at the end: {example}": "请写在末尾：{example}",
    "The command is missing that the job is to run.": "缺少任务要运行的命令。",
    "There is no flag {flag}.": "没有参数 {flag}。",
    "if it is of the job's command, write that in quotes, or after --": (
        "如果它属于任务的命令，请将命令写在引号中或 -- 之后"
    ),
    "Lines of the command that begin with an option were joined to the line before them.": (
        "命令中以选项开头的行已与前一行合并。"
    ),
    "What was created before the error is deleted again.": "出错前已创建的对象已被删除。",
    "The model {name} is written on the job, but not registered.": "模型 {name} 已写在任务上，但没有注册。",
    "The job will wait: {reason}": "任务将会等待：{reason}",
    "There is no priority {name}.": "没有优先级 {name}。",
    "the priorities there are: {command}": "查看已有的优先级：{command}",
    "{file} cannot be read: {why}": "无法读取 {file}：{why}",
    "name a file of this machine that you may read": "请指定本机上您有权读取的文件",
    # Pruning, data
    "No finished job is that old.": "没有这么久以前的已结束任务。",
    "Delete these {number} jobs?": "删除这 {number} 个任务？",
    "There are no data volumes.": "没有数据卷。",
    # Deleting
    "a job: {job}; an embedded cluster with everything in it: {cluster}": (
        "删除任务：{job}；删除内嵌集群及其全部内容：{cluster}"
    ),
}
