# SPDX-License-Identifier: Apache-2.0
"""The embedded cluster of a command, its directory, and commands that start, show, stop and delete it."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    # The chosen cluster
    "is partly deleted; finish it with: {command}": "只删除了一部分；完成删除：{command}",
    "is stopped": "已停止",
    "has never been started in {path}": "从未在 {path} 启动过",
    "has never been started in {path}; did you mean {similar!r}?": "从未在 {path} 启动过；您是指 {similar} 吗？",
    "cluster {name!r} {state}\nStart it with: {command}": "集群 {name} {state}\n启动：{command}",
    "use small letters, digits and dashes, 63 at most": "请使用小写字母、数字和连字符，最多 63 个字符",
    "it is empty, perhaps because of a variable that is not set": "值为空，可能是因为变量没有设置",
    "unexpected: {words}\nTo name the cluster: {command}": "多余的参数：{words}\n要指定集群名称：{command}",
    "No such command {name!r}. Did you mean {meant!r}?": "没有命令 {name}。您是指 {meant} 吗？",
    "{written!r} is no span of time; write it like 30s, 2m or 1h30m": (
        "{written!r} 不是时长；请写成 30s、2m 或 1h30m 这样的形式"
    ),
    "{written!r} is longer than 100 years; write it like 30s, 2m or 1h30m": (
        "{written!r} 超过 100 年；请写成 30s、2m 或 1h30m 这样的形式"
    ),
    "its server does not answer: {why}\nIts log is {log}": "服务器没有应答：{why}\n其日志：{log}",
    # Directories
    "Choose a directory on a local disk that you may write to": "请选择本地磁盘上您有权写入的目录",
    "{why}\n{advice}: {option}": "{why}\n{advice}：{option}",
    "{path} cannot be made: {why}": "无法创建 {path}：{why}",
    "{path} is your home directory, and a cluster needs a directory of its own": (
        "{path} 是您的主目录，而集群需要单独的目录"
    ),
    "{path} is the root of all files, and a cluster needs a directory of its own": (
        "{path} 是根目录，而集群需要单独的目录"
    ),
    "{path} is a symbolic link that leads nowhere, and a cluster needs a directory": (
        "{path} 是失效的符号链接，而集群需要目录"
    ),
    "{path} is a file, and a cluster needs a directory": "{path} 是文件，而集群需要目录",
    "{path} is on a file system that is mounted read-only": "{path} 位于以只读方式挂载的文件系统",
    "{user} may not write to {path}, which belongs to {owner}": "{user} 无权写入 {path}，它属于 {owner}",
    "{path} holds {what}, not files (file system {kind})": "{path} 中是{what}，不是文件（文件系统 {kind}）",
    "the kernel's information about processes": "内核的进程信息",
    "the kernel's information about devices": "内核的设备信息",
    "the kernel's control groups": "内核的控制组",
    "the kernel's debugging interface": "内核的调试接口",
    "the kernel's tracing interface": "内核的跟踪接口",
    "the kernel's security interface": "内核的安全接口",
    "the kernel's configuration interface": "内核的配置接口",
    "terminals": "终端",
    "message queues": "消息队列",
    "the kernel's BPF objects": "内核的 BPF 对象",
    "the kernel's crash records": "内核的崩溃记录",
    "the firmware's variables": "固件变量",
    "the name {name}... has {size} bytes, and file systems allow {most}": (
        "名称 {name}... 有 {size} 字节，而文件系统最多允许 {most} 字节"
    ),
    "the path {path}... has {size} bytes; at most {most} leave room for the cluster's files": (
        "路径 {path}... 有 {size} 字节；最多 {most} 字节才能为集群的文件留出余地"
    ),
    # Starting
    "Cluster {name!r} is up at {server}": "集群 {name} 已启动：{server}",
    "Renew its entry in {file}: {command}": "更新它在 {file} 中的条目：{command}",
    "Or add it to your own kubeconfig: {command}": "或将它添加到您自己的 kubeconfig：{command}",
    "\nStart a training job, watch it until Ctrl-C, and resize it while it trains:\n\n{commands}": (
        "\n启动一个训练任务，观察它（按 Ctrl-C 停止观察），并在训练期间改变其规模：\n\n{commands}"
    ),
    "\n\n! kubectl is not on the PATH. Install it: {url}": "\n\n! PATH 中没有 kubectl。请安装：{url}",
    "Stop it with: {command}": "停止：{command}",
    "cluster {name!r} is up already\nSee it with: {see}\nStop it with: {stop}": (
        "集群 {name} 已在运行\n查看：{see}\n停止：{stop}"
    ),
    "cluster {name!r} is partly deleted: its deletion is under way or was interrupted\n"
    "Delete the rest of it, then start anew: {command}": (
        "集群 {name} 只删除了一部分：删除正在进行或曾被中断\n请先删除其余部分，再重新启动：{command}"
    ),
    "port {port} is taken: {listener}\nTake any that is free: {command}": (
        "端口 {port} 已被占用：{listener}\n使用任意空闲端口：{command}"
    ),
    "the cluster {name!r} of yours listens on it": "您的集群 {name} 正在监听它",
    "another program listens on it": "另一个程序正在监听它",
    "port {port} may only be used by root\nTake any that is free: {command}": (
        "端口 {port} 只有 root 可以使用\n使用任意空闲端口：{command}"
    ),
    "the disk that holds {path} is full\nFree some space, or choose a directory on another disk: {command}": (
        "{path} 所在的磁盘已满\n请腾出空间，或选择另一个磁盘上的目录：{command}"
    ),
    "files in {path} cannot be locked, as on some network file systems: {why}": (
        "{path} 中的文件无法加锁，某些网络文件系统就是如此：{why}"
    ),
    "cannot write to {path}: {why}": "无法写入 {path}：{why}",
    "cannot start: {why}": "无法启动：{why}",
    "{complaint}\nNothing was started, and running pods were left alone. Choose one:\n"
    "  put the lost file back, then: {up}\n"
    "  start with what is left; objects changed since are lost, and pods without an object are ended:\n"
    "    {accept}\n"
    "  begin with an empty cluster in another directory: {elsewhere}": (
        "{complaint}\n没有启动任何进程，运行中的 Pod 也保持原样。请选择：\n"
        "  将丢失的文件放回原处，然后运行：{up}\n"
        "  用剩下的内容启动；此后更改的对象会丢失，没有对象的 Pod 会被结束：\n"
        "    {accept}\n"
        "  在另一个目录中启动空集群：{elsewhere}"
    ),
    "{complaint}\nRestore a copy, or begin with an empty cluster: {command}": (
        "{complaint}\n请恢复备份，或从空集群开始：{command}"
    ),
    "Port {port} is taken; taking another one.\n": "端口 {port} 已被占用；改用另一个端口。\n",
    "\nThese commands are for another terminal. Ctrl-C stops the cluster; its objects are kept.": (
        "\n请在另一个终端运行这些命令。按 Ctrl-C 停止集群；其对象会保留。"
    ),
    "the cluster did not start within {seconds} s": "集群没有在 {seconds} 秒内启动",
    "the cluster did not start": "集群没有启动",
    "{why}\nIts log is {log}": "{why}\n其日志：{log}",
    # Stopping
    "--keep-pods and --grace contradict each other": "--keep-pods 与 --grace 不能同时使用",
    "Cluster {name!r} {state}.{left}": "集群 {name} {state}。{left}",
    " 1 pod runs on. To end them: {up} and then {down}": "仍有 1 个 Pod 在运行。要结束它：先 {up}，再 {down}",
    " {count} pods run on. To end them: {up} and then {down}": (
        "仍有 {count} 个 Pod 在运行。要结束它们：先 {up}，再 {down}"
    ),
    "\nCluster {name!r} is down.": "\n集群 {name} 已停止。",
    "Cluster {name!r} is down.{pods} Its objects are kept: {command} brings them back.": (
        "集群 {name} 已停止。{pods}其对象已保留：运行 {command} 即可恢复。"
    ),
    " Its pods run on.": "其 Pod 继续运行。",
    "Waiting for 1 pod to end.": "正在等待 1 个 Pod 结束。",
    "Waiting for {count} pods to end.": "正在等待 {count} 个 Pod 结束。",
    "\n{waiting} Ctrl-C again ends them at once.": "\n{waiting}再按一次 Ctrl-C 立即结束。",
    "{waiting} At once, from another terminal: {command}": "{waiting}要立即结束，请在另一个终端运行：{command}",
    "cannot write to {path}: {why}\nFree some space, or leave the options out, which needs none: {command}": (
        "无法写入 {path}：{why}\n请腾出空间，或去掉选项（这样不需要空间）：{command}"
    ),
    "process {process} belongs to another user": "进程 {process} 属于另一个用户",
    "process {process} has not stopped after {seconds} s\nEnd it with: {command}\n"
    "Everything that was acknowledged is on disk.": (
        "进程 {process} 在 {seconds} 秒后仍未停止\n结束它：{command}\n已确认的内容都已写入磁盘。"
    ),
    # Showing
    "Cluster {name!r} {state}.": "集群 {name} {state}。",
    "Start it with: {command}": "启动：{command}",
    "cluster {name!r} is still starting": "集群 {name} 仍在启动",
    "cluster {name!r} is still starting\nTry again in a moment.": "集群 {name} 仍在启动\n请稍后再试。",
    "Its server is slow: {why}; waiting up to {seconds} s": "服务器响应缓慢：{why}；最多等待 {seconds} 秒",
    "no answer within {seconds} s": "{seconds} 秒内没有应答",
    "GET {path} is answered with {status}": "对 GET {path} 的应答是 {status}",
    "{path} ({size})": "{path}（{size}）",
    "{nodes}, {namespaces}, {pods}": "{nodes}、{namespaces}、{pods}",
    "1 node": "1 个节点",
    "{count} nodes": "{count} 个节点",
    "1 namespace": "1 个命名空间",
    "{count} namespaces": "{count} 个命名空间",
    "1 pod": "1 个 Pod",
    "{count} pods": "{count} 个 Pod",
    "{ready} of {total} ready": "共 {total} 个，{ready} 个就绪",
    "{running} of {total} running": "共 {total} 个，{running} 个在运行",
    "the one that runs tide": "运行 tide 的环境",
    "{made} and the one that runs tide": "{made} 个，以及运行 tide 的环境",
    "runs as process {process}": "在运行，进程 {process}",
    "does not run": "没有运行",
    "does not run; its log is {log}": "没有运行；其日志：{log}",
    "pods share this machine's": "Pod 共用本机的网络",
    "netd does not answer: {why}": "netd 没有应答：{why}",
    "pods have their own; they cannot reach the outside": "Pod 有自己的网络；无法访问外部",
    "pods have their own; they cannot reach the outside: {why}": "Pod 有自己的网络；无法访问外部：{why}",
    "pods have their own; they reach the outside by {uplink}": "Pod 有自己的网络；通过 {uplink} 访问外部",
    # Jobs that run when the cluster is stopped
    "Its server does not answer, so running jobs cannot be listed; they continue with the next `tide up`.\n": (
        "服务器没有应答，因此无法列出运行中的任务；下次 `tide up` 后它们会继续。\n"
    ),
    "1 job is running": "有 1 个任务在运行",
    "{count} jobs are running": "有 {count} 个任务在运行",
    "{running}, and so it stays; the next `tide up` takes the pods over:": (
        "{running}，并将继续运行；下次 `tide up` 会接管其 Pod："
    ),
    "{running}. With the next `tide up`:": "{running}。下次 `tide up` 后：",
    "and {count} more": "另有 {count} 个",
    "continues from its last checkpoint, or from the beginning if it has none": (
        "从最近的检查点继续；没有检查点则从头开始"
    ),
    "starts from the beginning": "从头开始",
    "{fate}; each pod counts towards its backoffLimit ({limit})": "{fate}；每个 Pod 都计入其 backoffLimit（{limit}）",
    # The kubeconfig
    "{file} cannot be read as a kubeconfig: {why}\nNothing was changed.": (
        "无法将 {file} 作为 kubeconfig 读取：{why}\n没有做任何更改。"
    ),
    "cannot write {file}: {why}": "无法写入 {file}：{why}",
    "Added {name!r} to {file} and made it the current context.": "已将 {name} 添加到 {file} 并设为当前 context。",
    "Replaced {name!r} in {file} and made it the current context.": "已替换 {file} 中的 {name} 并设为当前 context。",
    "Go back with: {command}": "切换回去：{command}",
    "This shell does not use it, because KUBECONFIG names another file: {command}": (
        "当前 shell 不使用它，因为 KUBECONFIG 指定了另一个文件：{command}"
    ),
    "{file} has an entry {name!r} for {server}\n"
    "Nothing was changed; rename that entry first, or start the cluster under another --name.": (
        "{file} 已有指向 {server} 的条目 {name}\n没有做任何更改；请先重命名该条目，或用另一个 --name 启动集群。"
    ),
    # Deleting
    "cluster {name!r} is up\nStop it first: {stop}\nOr stop and delete it, killing its pods: {delete}": (
        "集群 {name} 正在运行\n请先停止它：{stop}\n或停止并删除它，同时杀死其 Pod：{delete}"
    ),
    "Removed its context from {file}.": "已从 {file} 移除其 context。",
    "Deleted cluster {name!r}.": "集群 {name} 已删除。",
    "{name} (a symbolic link)": "{name}（符号链接）",
    "Left alone in {path}, because the cluster did not make it: {names}": (
        "{path} 中的这些内容不是集群创建的，因此保留：{names}"
    ),
    "KUBECONFIG still names its kubeconfig: {command}": "KUBECONFIG 仍指向它的 kubeconfig：{command}",
    "{path} is not the directory of a cluster; nothing was deleted.": "{path} 不是集群的目录；没有删除任何内容。",
    "Cluster {name!r} {state}; nothing was deleted.": "集群 {name} {state}；没有删除任何内容。",
    "deleting cluster {name!r} needs a confirmation, and there is no terminal to ask on\n"
    "Without being asked: {command}": "删除集群 {name} 需要确认，但没有终端可供询问\n不经询问直接删除：{command}",
    "Delete cluster {name!r} with all its objects, logs and volumes in {path}?": (
        "删除集群 {name} 以及 {path} 中它的所有对象、日志和卷？"
    ),
    "Nothing was deleted.": "没有删除任何内容。",
    "! Its context is still in {file}, which cannot be changed: {why}\n  Remove it with: {command}": (
        "! 其 context 仍在 {file} 中，该文件无法更改：{why}\n  移除：{command}"
    ),
    "cluster {name!r} was started, or is being deleted, by another tide just now\nSee it with: {command}": (
        "集群 {name} 刚刚被另一个 tide 启动，或正在被它删除\n查看：{command}"
    ),
    "cannot remove {path}: {why}\nRemove what is in the way, then delete the rest: {command}": (
        "无法移除 {path}：{why}\n请清除障碍，再删除其余部分：{command}"
    ),
}
