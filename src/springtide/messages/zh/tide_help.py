# SPDX-License-Identifier: Apache-2.0
"""`tide --help`."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "Springtide: training jobs that grow into idle capacity and give it back.": (
        "Springtide：训练任务扩展到空闲容量，并在需要时归还。"
    ),
    "First steps": "入门",
    "a cluster on this machine": "在本机启动一个集群",
    "a program of this directory as an elastic job": "将本目录的程序作为弹性任务运行",
    "the jobs": "查看任务",
    "More about a command: {command}": "命令的详细说明：{command}",
    "Complete commands, options and names by TAB: {command}": "用 TAB 补全命令、选项和名称：{command}",
    "Jobs": "任务",
    "Run a program of this directory as an elastic job.": "将本目录的程序作为弹性任务运行。",
    "Create jobs: of a manifest, or described by flags.": "创建任务：用清单，或用参数描述。",
    "Show the jobs of a namespace.": "列出命名空间中的任务。",
    "Show a job and its instances.": "显示任务及其实例。",
    "Show what the pods of a job print, merged by time.": "按时间合并显示任务各 Pod 的日志。",
    "Explain why a job is in its state.": "解释任务为何处于当前状态。",
    "Show what jobs take up, and what nodes have.": "显示任务占用与节点拥有的资源。",
    "Run a command in a job's pod, with a terminal.": "在任务的 Pod 中运行命令，带终端。",
    "Wait until a job has finished.": "等待任务结束。",
    "Changing jobs": "修改任务",
    "Give a job another number of workers.": "改变任务的 worker 数量。",
    "Add workers to a job.": "为任务增加 worker。",
    "Remove workers from a job.": "减少任务的 worker。",
    "Stop a job's pods, and keep the job.": "停止任务的 Pod，保留任务。",
    "Start a suspended job again.": "恢复已挂起的任务。",
    "Start a job again, finished or not.": "重新启动任务，无论是否已结束。",
    "Create a copy of a job under another name.": "以另一个名称创建任务的副本。",
    "Show what a manifest would change.": "显示清单会带来的更改。",
    "Delete jobs; with --cluster, an embedded cluster.": "删除任务；带 --cluster 时删除内嵌集群。",
    "Delete old jobs that have finished.": "删除已结束的旧任务。",
    "Cluster": "集群",
    "Start the embedded cluster.": "启动内嵌集群。",
    "Stop the embedded cluster; its objects are kept.": "停止内嵌集群；保留其对象。",
    "Show whether the embedded cluster runs.": "显示内嵌集群是否在运行。",
    "Print or merge the cluster's kubeconfig.": "打印或合并集群的 kubeconfig。",
    "Show, add, drain, remove and reclaim nodes.": "显示、添加、排空、移除和回收节点。",
    "Run the operator, which reconciles training jobs.": "运行管理训练任务的 operator。",
    "Check this machine or a cluster; every fault comes with a fix.": "检查本机或集群，并给出修复方法。",
    "Environments and data": "环境与数据",
    "Make, list and delete environments: what images stand for.": "创建、列出和删除环境（对应镜像）。",
    "Show the data volumes that jobs can mount.": "显示任务可挂载的数据卷。",
    "Other commands": "其他命令",
    "Print the manifest of a job to try out.": "打印可供试用的任务清单。",
    "Show who you are to the cluster.": "显示集群所见的用户。",
    "Print the script that completes tide by TAB.": "打印 TAB 补全脚本。",
    "Print the version, and the Kubernetes version it follows.": "打印版本及其遵循的 Kubernetes 版本。",
}
