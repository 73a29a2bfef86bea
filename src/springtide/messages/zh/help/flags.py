# SPDX-License-Identifier: Apache-2.0
"""Help of the flags that describe a job, of `tide submit TYPE`."""

from __future__ import annotations

from typing import Final

HELP: Final = {
    "Create nothing: print what would be sent (client), or stored (server).": (
        "不创建任何对象：打印将要发送的内容（client），或将被保存的内容（server）。"
    ),
    "How to print the objects: yaml, json or name.": "对象的打印格式：yaml、json 或 name。",
    "Wait until the job has finished.": "等待任务结束。",
    "Name of the job": "任务名称",
    "Container image": "容器镜像",
    "GPUs of each worker": "每个 worker 的 GPU 数",
    "Other devices of each worker, as amd.com/gpu=1: KEY=VALUE; may be repeated": (
        "每个 worker 的其他设备，如 amd.com/gpu=1：KEY=VALUE；可重复"
    ),
    "Number of workers": "worker 数",
    "Most workers": "最多 worker 数",
    "Fewest workers": "最少 worker 数",
    "How often a failed job is started again": "失败的任务重新启动的次数",
    "Directory that the command runs in; synced code is in its directory code": (
        "命令的运行目录；同步的代码在其中的 code 目录"
    ),
    "Environment variable: KEY=VALUE; may be repeated": "环境变量：KEY=VALUE；可重复",
    "Claim to mount, CLAIM:/PATH; may be repeated": "要挂载的存储卷声明，CLAIM:/PATH；可重复",
    "Directory of the host to mount, HOST[:CONTAINER]; may be repeated": ("要挂载的主机目录，HOST[:CONTAINER]；可重复"),
    "Annotation: KEY=VALUE; may be repeated": "注解：KEY=VALUE；可重复",
    "Annotation of the launcher: KEY=VALUE; may be repeated": "launcher 的注解：KEY=VALUE；可重复",
    "Annotation of workers: KEY=VALUE; may be repeated": "worker 的注解：KEY=VALUE；可重复",
    "Label: KEY=VALUE; may be repeated": "标签：KEY=VALUE；可重复",
    "Use RDMA": "使用 RDMA",
    "Schedule all pods at once or none": "所有 Pod 同时调度，或都不调度",
    "Name of a PriorityClass": "PriorityClass 的名称",
    "Submit the job suspended, for a queue to start it": "以挂起状态提交任务，由队列启动",
    "Taint to tolerate, KEY=VALUE:EFFECT,OPERATOR or all; may be repeated": (
        "要容忍的污点，KEY=VALUE:EFFECT,OPERATOR 或 all；可重复"
    ),
    "Label of the nodes to run on: KEY=VALUE; may be repeated": "运行节点的标签：KEY=VALUE；可重复",
    "Label of the launcher's node: KEY=VALUE; may be repeated": "launcher 所在节点的标签：KEY=VALUE；可重复",
    "Label of the nodes for worker pods, instead of --selector: KEY=VALUE; may be repeated": (
        "worker Pod 的节点标签，代替 --selector：KEY=VALUE；可重复"
    ),
    "Label of the nodes for ps pods, instead of --selector: KEY=VALUE; may be repeated": (
        "ps Pod 的节点标签，代替 --selector：KEY=VALUE；可重复"
    ),
    "Label of the nodes for chief pods, instead of --selector: KEY=VALUE; may be repeated": (
        "chief Pod 的节点标签，代替 --selector：KEY=VALUE；可重复"
    ),
    "Label of the nodes for evaluator pods, instead of --selector: KEY=VALUE; may be repeated": (
        "evaluator Pod 的节点标签，代替 --selector：KEY=VALUE；可重复"
    ),
    "File to put into the containers, LOCAL[:CONTAINER]; may be repeated": (
        "要放入容器的文件，LOCAL[:CONTAINER]；可重复"
    ),
    "Secret of a private registry; may be repeated": "私有镜像仓库的 Secret；可重复",
    "When images are pulled: Always, IfNotPresent or Never": "何时拉取镜像：Always、IfNotPresent 或 Never",
    "Shell that runs the command: sh or bash": "运行命令的 shell：sh 或 bash",
    "Name of the scheduler": "调度器名称",
    "Use the host's network": "使用主机网络",
    "Use the host's IPC namespace": "使用主机的 IPC 命名空间",
    "Use the host's PID namespace": "使用主机的 PID 命名空间",
    "Name of the model that is trained": "所训练模型的名称",
    "Address of the model that is trained": "所训练模型的地址",
    "How code is fetched before the job starts: git or rsync": "任务启动前获取代码的方式：git 或 rsync",
    "Where code is fetched from": "代码的来源",
    "Container image that fetches code": "获取代码的容器镜像",
    "Show --logdir in a TensorBoard": "在 TensorBoard 中显示 --logdir",
    "Container image of the TensorBoard": "TensorBoard 的容器镜像",
    "Directory of the TensorBoard's logs": "TensorBoard 日志的目录",
    "CPUs of each pod, as 1 or 500m": "每个 Pod 的 CPU，如 1 或 500m",
    "Memory of each pod, as 1Gi": "每个 Pod 的内存，如 1Gi",
    "Whether a failed launcher starts again: Never or OnFailure": "失败的 launcher 是否重启：Never 或 OnFailure",
    "How often the job may fail before it is given up": "任务失败多少次后放弃",
    "Secret with SSH keys, instead of new ones": "含有 SSH 密钥的 Secret，代替新建的密钥",
    "The job may run on nodes that can be taken away": "任务可在会被收回的节点上运行",
    "Seconds after which a job that cannot start fails; 0: never": "任务无法启动时，多少秒后视为失败；0：从不",
    "When a worker's container starts again: Never, OnFailure, Always or ExitCode": (
        "worker 的容器何时重启：Never、OnFailure、Always 或 ExitCode"
    ),
    "Place workers by the connections of GPUs": "按 GPU 之间的连接放置 worker",
    "Mount data in the launcher, too": "在 launcher 中也挂载数据",
    "Which pods are deleted at the end: None, Running or All": "结束时删除哪些 Pod：None、Running 或 All",
    "How long the job may run, as 5s, 1m, 2h22m; 0: without end": "任务最长运行时间，如 5s、1m、2h22m；0：不限",
    "How long the finished job is kept, as 5s, 1m, 2h22m; 0: without end": (
        "任务结束后保留多久，如 5s、1m、2h22m；0：一直保留"
    ),
    "How long the job may wait before it starts; 0: without end": "任务启动前最长等待时间；0：不限",
    "Size of /dev/shm": "/dev/shm 的大小",
    "Number of parameter servers": "参数服务器数",
    "GPUs of each parameter server": "每个参数服务器的 GPU 数",
    "Run a chief": "运行一个 chief",
    "Run an evaluator": "运行一个 evaluator",
    "Container image of workers": "worker 的容器镜像",
    "Container image of parameter servers": "参数服务器的容器镜像",
    "Port of workers; 0: a free one": "worker 的端口；0：任一空闲端口",
    "Port of parameter servers; 0: a free one": "参数服务器的端口；0：任一空闲端口",
    "Port of the chief; 0: a free one": "chief 的端口；0：任一空闲端口",
    "CPUs of the worker, as 1 or 500m": "worker 的 CPU，如 1 或 500m",
    "Most CPUs of the worker; without it --worker-cpu": "worker 的 CPU 上限；不写则同 --worker-cpu",
    "Memory of the worker, as 1Gi": "worker 的内存，如 1Gi",
    "Most memory of the worker; without it --worker-memory": "worker 的内存上限；不写则同 --worker-memory",
    "CPUs of the parameter server, as 1 or 500m": "参数服务器的 CPU，如 1 或 500m",
    "Most CPUs of the parameter server; without it --ps-cpu": "参数服务器的 CPU 上限；不写则同 --ps-cpu",
    "Memory of the parameter server, as 1Gi": "参数服务器的内存，如 1Gi",
    "Most memory of the parameter server; without it --ps-memory": "参数服务器的内存上限；不写则同 --ps-memory",
    "CPUs of the chief, as 1 or 500m": "chief 的 CPU，如 1 或 500m",
    "Most CPUs of the chief; without it --chief-cpu": "chief 的 CPU 上限；不写则同 --chief-cpu",
    "Memory of the chief, as 1Gi": "chief 的内存，如 1Gi",
    "Most memory of the chief; without it --chief-memory": "chief 的内存上限；不写则同 --chief-memory",
    "CPUs of the evaluator, as 1 or 500m": "evaluator 的 CPU，如 1 或 500m",
    "Most CPUs of the evaluator; without it --evaluator-cpu": "evaluator 的 CPU 上限；不写则同 --evaluator-cpu",
    "Memory of the evaluator, as 1Gi": "evaluator 的内存，如 1Gi",
    "Most memory of the evaluator; without it --evaluator-memory": (
        "evaluator 的内存上限；不写则同 --evaluator-memory"
    ),
    "How worker pods are placed: none, spread or binpack": "worker Pod 的放置方式：none、spread 或 binpack",
    "How ps pods are placed: none, spread or binpack": "ps Pod 的放置方式：none、spread 或 binpack",
    "Whether that is preferred or required": "该方式是优先（preferred）还是必需（required）",
    "When the job has succeeded: ChiefWorker or AllWorkers": "任务何时算成功：ChiefWorker 或 AllWorkers",
    'Order in which roles start, as "Worker,PS,Chief,Evaluator" or "w,p,c,e"': (
        '各角色的启动顺序，如 "Worker,PS,Chief,Evaluator" 或 "w,p,c,e"'
    ),
    "Processes per pod: auto, cpu, gpu or a number": "每个 Pod 的进程数：auto、cpu、gpu 或数字",
}
