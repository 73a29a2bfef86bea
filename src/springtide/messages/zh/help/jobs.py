# SPDX-License-Identifier: Apache-2.0
"""Help of the commands on jobs."""

from __future__ import annotations

from typing import Final

HELP: Final = {
    # Options of many commands
    "The namespace.  [default: the context's]": "命名空间。  [默认：上下文的命名空间]",
    "The context in the kubeconfig.": "kubeconfig 中的上下文。",
    "The kubeconfig file of the cluster.": "集群的 kubeconfig 文件。",
    "In all namespaces.": "在所有命名空间中。",
    "Jobs of one type only, such as mpijob.": "只看一种类型的任务，如 mpijob。",
    "How it is shown. Templates read the document that -o json shows.": "输出格式。模板读取 -o json 显示的文档。",
    "Go on, and show changes as they happen.": "持续运行，实时显示变化。",
    "Name of the job.": "任务名称。",
    "Names of jobs.": "任务名称，可有多个。",
    "Type of the job, where two have one name: mpijob.": "任务类型，用于区分同名任务：mpijob。",
    "Do not ask.": "不询问。",
    "Print JSON.": "输出 JSON。",
    "How long to wait at most; 2h, for example.  [default: without end]": "最长等待时间，如 2h。  [默认：不限]",
    "How long to wait at most; 5m, for example.  [default: without end]": "最长等待时间，如 5m。  [默认：不限]",
    "How long to wait at most; 2m, for example.  [default: without end]": "最长等待时间，如 2m。  [默认：不限]",
    # run
    "Run a program as an elastic job, and follow its log.": "将程序作为弹性任务运行，并跟踪其日志。",
    (
        "On the embedded cluster it runs in this directory, in the virtual environment that is active, or in .venv, or"
        " in one made from requirements.txt. Ctrl-C asks whether to detach from the job or to stop it."
    ): (
        "在内嵌集群上，程序在本目录中运行，使用已激活的虚拟环境、.venv，或由 requirements.txt 创建的虚拟环境。"
        "按 Ctrl-C 时会询问是脱离任务还是停止任务。"
    ),
    "Exit code 0 if the job succeeds, 100 if it fails, 101 after detaching, 103 if it is stopped.": (
        "退出码：任务成功为 0，失败为 100，脱离后为 101，被停止为 103。"
    ),
    "Workers to begin with.  [default: 2]": "初始 worker 数。  [默认：2]",
    "The fewest to train with.  [default: 1]": "训练所需的最少 worker 数。  [默认：1]",
    "The most to grow to.  [default: 4, or --workers]": "最多扩展到的 worker 数。  [默认：4，或 --workers]",
    "Name of the job.  [default: that of the directory]": "任务名称。  [默认：目录名]",
    "GPUs of each worker, a rank for each.": "每个 worker 的 GPU 数，每个 GPU 一个 rank。",
    "CPUs that each worker requests, such as 2 or 500m.": "每个 worker 申请的 CPU，如 2 或 500m。",
    "Memory that each worker requests, such as 4Gi.": "每个 worker 申请的内存，如 4Gi。",
    "Run in this image; needed on other clusters.": "在此镜像中运行；在其他集群上必须指定。",
    "Run in this environment of `tide env list`.": "在 `tide env list` 列出的此环境中运行。",
    "A variable of the program.": "程序的环境变量。",
    "Do not follow the log.": "不跟踪日志。",
    "The program and its arguments, after two dashes.": "程序及其参数，写在两个短横线之后。",
    # submit
    "Create the objects of a manifest, which may hold several, or a job that flags describe.": (
        "创建清单中的对象（可有多个），或用参数描述的任务。"
    ),
    (
        "With --wait the exit code is 0 if its jobs succeed, 100 if one fails, 103 if one is deleted, 6 when the time"
        " is up, and 101 after Ctrl-C."
    ): "带 --wait 时的退出码：任务都成功为 0，有失败为 100，有被删除为 103，超时为 6，Ctrl-C 后为 101。",
    "A manifest; - is stdin.": "清单；- 表示标准输入。",
    "Create nothing: print what would be sent (client), or what the server would store (server).": (
        "不创建任何对象：打印将要发送的内容（client），或服务器将会保存的内容（server）。"
    ),
    "How to print the objects.": "对象的打印格式。",
    "Wait until its jobs have finished.": "等待其任务结束。",
    "What the job runs.": "任务运行的命令。",
    (
        "COMMAND in one word, in quotes, is a line for the shell of the container. Several words, best after --, are a"
        " program and its arguments. Flags may stand anywhere before --."
    ): (
        "COMMAND 若为引号中的一个词，即为容器中 shell 的一行命令；若为多个词（最好写在 -- 之后），即为程序及其参数。"
        "参数可写在 -- 之前的任何位置。"
    ),
    "An elastic job of Horovod: workers come and go while it trains.": "Horovod 弹性任务：训练中可增减 worker。",
    "A job of MPI: a launcher and workers.": "MPI 任务：一个 launcher 和若干 worker。",
    "A job of TensorFlow: workers, parameter servers, a chief.": "TensorFlow 任务：worker、参数服务器和 chief。",
    "A job of PyTorch: a master and workers.": "PyTorch 任务：一个 master 和若干 worker。",
    "A job of DeepSpeed: a launcher and workers.": "DeepSpeed 任务：一个 launcher 和若干 worker。",
    # list, get, logs, explain, top
    "Show the jobs of a namespace, the newest first.": "列出命名空间中的任务，最新的在前。",
    "Show a job: its state and why, its progress, and its instances.": "显示任务：状态及原因、进度和实例。",
    "Show the events of the job and its instances, too.": "同时显示任务及其实例的事件。",
    "Show the GPUs on each node, too.": "同时显示各节点上的 GPU。",
    "Go on until the job has ended, and show changes as they happen.": "持续到任务结束，实时显示变化。",
    "Draw loss, throughput and workers while the job trains.": "训练时绘制损失、吞吐量和 worker 数。",
    "Show what a job's pods print, as one log.": "将任务各 Pod 的输出合并为一份日志显示。",
    "Logs of pods that were removed are shown too, where the cluster keeps them: an embedded one does.": (
        "若集群保留日志（内嵌集群会保留），也显示已移除 Pod 的日志。"
    ),
    "Go on until the job has finished.": "持续到任务结束。",
    "Only the output of this rank.": "只显示此 rank 的输出。",
    "Only lines that match.": "只显示匹配的行。",
    "Only lines this young: 30s, 5m, 2h.": "只显示最近这段时间的行：30s、5m、2h。",
    "Only lines since then (RFC 3339).": "只显示此时刻以后的行（RFC 3339）。",
    "The last lines of each pod.": "每个 Pod 的最后几行。",
    "Of the attempts before the last restart.": "显示最近一次重启之前的运行。",
    "Show when each line was written.": "显示每行的写入时间。",
    "Only this pod, which may have been removed.": "只显示此 Pod，它可以已被移除。",
    "This container.  [default: the one that trains]": "此容器。  [默认：训练容器]",
    "all pods, merged by time": "所有 Pod，按时间合并",
    "the last lines of each, and all new": "各自的最后几行和全部新行",
    "Explain why a job is in its state.": "解释任务为何处于当前状态。",
    "Show what jobs take up, and what nodes have.": "显示任务占用与节点拥有的资源。",
    "Show the GPUs of jobs, those that ask for most first.": "显示任务的 GPU，申请最多的在前。",
    "Names of jobs; without any, all of them.": "任务名称；不写则为全部任务。",
    "Show the GPUs, processors and memory of nodes, and what pods take up of them.": (
        "显示节点的 GPU、处理器和内存，以及 Pod 的占用。"
    ),
    "Names of nodes; without any, all of them.": "节点名称；不写则为全部节点。",
    # attach, tensorboard, wait
    "Run a command in a pod of a job, with a terminal; a shell if none is given.": (
        "在任务的 Pod 中运行命令，带终端；不写命令则运行 shell。"
    ),
    "The exit code is that of the command.": "退出码即该命令的退出码。",
    "a shell in the chief's pod": "chief 的 Pod 中的 shell",
    "The pod.  [default: the only one, or the chief]": "Pod。  [默认：唯一的 Pod，或 chief]",
    "The container.  [default: the one that trains]": "容器。  [默认：训练容器]",
    "With its arguments.": "命令及其参数。",
    "Forward a port of this machine to the TensorBoard of a job, and print the address.": (
        "将本机端口转发到任务的 TensorBoard，并打印地址。"
    ),
    "`submit --tensorboard` does so by itself; this is for another machine, or after a restart of this one.": (
        "`submit --tensorboard` 会自动转发；此命令用于另一台机器，或本机重启之后。"
    ),
    "In the background, until the job is deleted.": "在后台运行，直到任务被删除。",
    "A port of 127.0.0.1.  [default: a free one]": "127.0.0.1 的端口。  [默认：任一空闲端口]",
    "A pipe to the command that waits.": "通向等待中的命令的管道。",
    "Wait until a job has finished.": "等待任务结束。",
    (
        "Exit code 0 if it succeeds, 100 if it fails, 103 if it is deleted, 6 when the time is up, and 101 after"
        " Ctrl-C."
    ): "退出码：成功为 0，失败为 100，被删除为 103，超时为 6，Ctrl-C 后为 101。",
    # scale, scaleout, scalein
    "Give a job another number of workers while it trains.": "在训练中改变任务的 worker 数量。",
    "The number of workers, or its change.": "worker 数量，或其增减。",
    "The workers that are removed.  [default: those that are cheapest to lose]": (
        "要移除的 worker。  [默认：移除代价最小的]"
    ),
    "Wait until the workers train, and show the steps.": "等待这些 worker 开始训练，并显示各步骤。",
    "Add workers to a job while it trains.": "在训练中为任务增加 worker。",
    "How many workers more.  [default: 1]": "增加的 worker 数。  [默认：1]",
    "How long it may take; 5m, for example.  [TrainingJobs: 10m]": "最长用时，如 5m。  [TrainingJob：10m]",
    "A script in the launcher (TrainingJobs only).": "launcher 中的脚本（仅限 TrainingJob）。",
    "A variable of the script.": "脚本的环境变量。",
    "How often a script is run again.": "脚本重试次数。",
    "Wait until it is done, and show the steps.": "等待完成，并显示各步骤。",
    "Remove workers from a job while it trains.": "在训练中减少任务的 worker。",
    "How many workers fewer.  [default: 1]": "减少的 worker 数。  [默认：1]",
    "The workers that are removed, instead of a number of them.": "要移除的 worker，代替数量。",
    # suspend, resume, restart, clone, diff
    "Stop a job's pods, and keep the job. It goes on from its last checkpoint when it is resumed.": (
        "停止任务的 Pod，保留任务。恢复后从最近的检查点继续。"
    ),
    "Wait until its pods have ended.": "等待其 Pod 结束。",
    "Start a suspended job again, from its last checkpoint if it has one.": (
        "恢复已挂起的任务；若有检查点，从最近的检查点继续。"
    ),
    "Start a job again: from its last checkpoint, or anew if it has finished.": (
        "重新启动任务：从最近的检查点继续；已结束的任务从头开始。"
    ),
    "How long its pods may take to end; 2m, for example.  [default: without end]": (
        "等待其 Pod 结束的最长时间，如 2m。  [默认：不限]"
    ),
    "Create a copy of a job under another name, and start it.": "以另一个名称创建任务的副本并启动。",
    "Name of the copy.": "副本的名称。",
    "Its number of workers.  [default: the same]": "副本的 worker 数。  [默认：相同]",
    "Show what a manifest would change in the cluster.": "显示清单会给集群带来的更改。",
    (
        "Nothing is changed: the server answers what it would store. Exit code 0 for no difference, 1 for some, 2 and"
        " more for errors."
    ): "不作任何更改：由服务器回答将会保存的内容。退出码：无差异为 0，有差异为 1，出错为 2 及以上。",
    # delete, prune, data, whoami
    "Delete jobs, with their pods and everything that was made for them.": ("删除任务，连同其 Pod 和为其创建的一切。"),
    (
        "On a terminal it asks before it deletes a job that has not finished. With --cluster it deletes an embedded"
        " cluster: its objects, logs, volumes and keys, and its context in your kubeconfig. Files in its directory that"
        " are not the cluster's are left alone. Environments belong to all clusters and stay."
    ): (
        "在终端中，删除尚未结束的任务之前会询问。带 --cluster 时删除内嵌集群：其对象、日志、存储卷和密钥，以及您的"
        " kubeconfig 中的上下文。其目录中不属于集群的文件不受影响。环境属于所有集群，予以保留。"
    ),
    "the embedded cluster, for good": "永久删除内嵌集群",
    "Delete an embedded cluster of this machine.": "删除本机的内嵌集群。",
    "With --cluster: stop it first if it runs; its pods are killed.": (
        "与 --cluster 同用：若集群在运行，先将其停止；其 Pod 会被强制结束。"
    ),
    "Delete jobs that have finished, with everything that was made for them. On a terminal it asks first.": (
        "删除已结束的任务，连同为其创建的一切。在终端中会先询问。"
    ),
    "Made so long ago: 12h, 3d.": "创建于这么久以前：12h、3d。",
    "Delete nothing: show which jobs it would be.": "不删除：只显示会删除哪些任务。",
    "which jobs it would delete": "会删除哪些任务",
    "Show the data volumes of a namespace: claims that jobs can mount.": (
        "显示命名空间中的数据卷：任务可挂载的存储卷声明。"
    ),
    "May be left out.": "可以省略。",
    "Show who you are to the cluster, and the cluster and the namespace that commands use.": (
        "显示集群所见的用户，以及各命令使用的集群和命名空间。"
    ),
}
