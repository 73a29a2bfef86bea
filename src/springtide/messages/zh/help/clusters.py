# SPDX-License-Identifier: Apache-2.0
"""Help of the commands on clusters, nodes and the operator."""

from __future__ import annotations

from typing import Final

HELP: Final = {
    "Name of the cluster, to tell several apart.  [default: springtide, or the directory's name]": (
        "集群名称，用于区分多个集群。  [默认：springtide，或目录名]"
    ),
    "Directory of the cluster's files, instead of one found by name.": "集群文件所在目录，代替按名称查找的目录。",
    # up
    "Start the embedded cluster and say how to reach it.": "启动内嵌集群，并说明如何访问。",
    (
        "Without -d it runs until Ctrl-C. Its objects are kept in the data directory and come back with the next start,"
        " on the same port. Pods run as processes of this machine, on nodes that share its resources. Several clusters"
        " run side by side under different names."
    ): (
        "不带 -d 时运行到按下 Ctrl-C 为止。其对象保存在数据目录中，下次启动时恢复，端口不变。"
        "Pod 作为本机的进程运行，各节点共享本机资源。不同名称的多个集群可以同时运行。"
    ),
    "Port on 127.0.0.1; 0 takes any free one.  [default: the last one, or 6443]": (
        "127.0.0.1 上的端口；0 表示任一空闲端口。  [默认：上次的端口，或 6443]"
    ),
    "Run in the background.": "在后台运行。",
    "Write a line per change to audit.log in the data directory.": "将每次更改记入数据目录中的 audit.log。",
    "Run no operator: training jobs wait for a `tide operator` of yours.": (
        "不运行 operator：训练任务等待您自己的 `tide operator`。"
    ),
    "Start although objects are lost or damaged on disk.": "即使磁盘上的对象丢失或损坏也启动。",
    "First make the environments of these presets, where they are missing; see `tide env presets`.": (
        "先创建这些预设中缺少的环境；参见 `tide env presets`。"
    ),
    (
        "Cut a node out of this machine, such as gpu-a=cpu:8,memory:32Gi,nvidia.com/gpu:4,spot,label:disk=fast,"
        "taint:team=vision:NoSchedule; may be repeated.  [default: one for all of it]"
    ): (
        "从本机划分出一个节点，如 gpu-a=cpu:8,memory:32Gi,nvidia.com/gpu:4,spot,label:disk=fast,"
        "taint:team=vision:NoSchedule；可重复。  [默认：一个节点拥有全部资源]"
    ),
    "Let no node take more CPU and memory requests than it has.": "不允许节点的 CPU 和内存申请量超过其拥有量。",
    "Give every node without GPUs of its own N imaginary ones, to try things out.": (
        "为每个没有 GPU 的节点提供 N 个虚拟 GPU，供试用。"
    ),
    "Also schedule pods that ask for the scheduler NAME; may be repeated.": (
        "也调度指定了调度器 NAME 的 Pod；可重复。"
    ),
    "Give pods namespaces where this machine allows it, or none: then they share its network and files.": (
        "在本机允许时为 Pod 提供命名空间隔离；none 表示不隔离：Pod 共享本机的网络和文件。"
    ),
    "Run an API server alone: nothing schedules or runs pods.": "只运行 API server：不调度也不运行 Pod。",
    # down, status, kubeconfig
    "Stop the embedded cluster; its objects are kept.": "停止内嵌集群；保留其对象。",
    (
        "Pods have their grace period to end. Running jobs are listed; they continue with the next `tide up`. Returns"
        " when all processes have ended. `tide delete --cluster` removes the objects as well."
    ): (
        "Pod 在其宽限期内结束。会列出运行中的任务；它们在下次 `tide up` 时继续。所有进程结束后命令才返回。"
        "`tide delete --cluster` 会同时删除对象。"
    ),
    "Leave pods running; the next `tide up` takes them over.": "让 Pod 继续运行；下次 `tide up` 时接管。",
    "Kill pods that still run then, such as 10s; 0 kills at once.  [default: each pod's own grace period]": (
        "到时仍在运行的 Pod 会被强制结束，如 10s；0 表示立即结束。  [默认：各 Pod 自己的宽限期]"
    ),
    "Show whether the embedded cluster runs, and what is in it.": "显示内嵌集群是否在运行及其内容。",
    "Exits with 0 when it runs and answers, with 3 when it is stopped, with 1 when it does not answer.": (
        "退出码：在运行且有应答为 0，已停止为 3，没有应答为 1。"
    ),
    "Print the embedded cluster's kubeconfig, or merge it into your own.": (
        "打印内嵌集群的 kubeconfig，或将其合并到您自己的 kubeconfig。"
    ),
    "It holds a key with all rights in the cluster: keep it to yourself.": (
        "其中含有拥有集群全部权限的密钥：请妥善保管。"
    ),
    "Add it to your own kubeconfig ($KUBECONFIG or ~/.kube/config), as current.": (
        "将其加入您自己的 kubeconfig（$KUBECONFIG 或 ~/.kube/config），并设为当前上下文。"
    ),
    # node
    "Show, add, drain, remove and reclaim nodes.": "显示、添加、排空、移除和回收节点。",
    "Show the nodes: their state, what they offer and what is used of it.": "显示节点：状态、拥有和已用的资源。",
    "Add nodes, with the given resources or else those of the machine.": "添加节点，使用给定的资源或本机的资源。",
    "Return at once instead of when the nodes are ready.": "立即返回，不等节点就绪。",
    "Drain nodes, then remove them.": "排空节点，然后移除。",
    "Do not drain first; pods have their grace period to end.": "不先排空；Pod 在其宽限期内结束。",
    "Give up after so long, such as 2m.": "超过此时间则放弃，如 2m。",
    "Stop scheduling new pods on nodes.": "不再向节点调度新的 Pod。",
    "Running pods stay; jobs that scale in remove workers on cordoned nodes first. To evict pods: tide node drain.": (
        "运行中的 Pod 保留；任务缩容时先移除这些节点上的 worker。要驱逐 Pod：tide node drain。"
    ),
    "Schedule pods on nodes again.": "恢复向节点调度 Pod。",
    "Cordon a node and evict its pods, as far as disruption budgets allow.": (
        "停止向节点调度，并在中断预算允许时驱逐其 Pod。"
    ),
    (
        "Elastic training jobs are notified first: they replace their workers on the node before these are deleted."
        " Workers that remain after a minute are evicted like other pods."
    ): "先通知弹性训练任务：它们在节点上的 worker 被删除之前补上新的。一分钟后仍在的 worker 与其他 Pod 一样被驱逐。",
    "Evict also pods that no controller would create again.": "也驱逐没有控制器会重新创建的 Pod。",
    "Time for pods to end, instead of their own.": "Pod 结束的宽限时间，代替各自的设定。",
    "Reclaim a node as a cloud reclaims a spot instance: first notice, then deletion.": (
        "像云平台回收竞价实例那样回收节点：先通知，后删除。"
    ),
    (
        "With the notice the node is tainted springtide.dev/reclaim and takes no new pods. When the time is up"
        " everything on it is killed and the node is deleted."
    ): ("通知时节点加上污点 springtide.dev/reclaim，不再接受新的 Pod。时间一到，节点上的一切被强制结束，节点被删除。"),
    "Time until it is gone.": "距节点消失的时间。",
    "Return when notice is given instead of when the node is gone.": "发出通知后即返回，不等节点消失。",
    # operator
    "Run the operator, which reconciles training jobs.": "运行管理训练任务的 operator。",
    "It runs until Ctrl-C or SIGTERM. It may be killed at any moment: its successor continues.": (
        "运行到 Ctrl-C 或 SIGTERM 为止。可随时强制结束：接替者会继续。"
    ),
    "Which cluster.  [default: as kubectl finds it]": "使用的集群。  [默认：与 kubectl 相同]",
    "The context of the kubeconfig, instead of its current one.": "kubeconfig 中的上下文，代替当前上下文。",
    "Serve jobs of these kinds alone, such as TFJob,PyTorchJob.  [default: all that the cluster defines]": (
        "只管理这些类型的任务，如 TFJob,PyTorchJob。  [默认：集群定义的所有类型]"
    ),
    "Reconcile jobs in this namespace only.  [default: all]": "只管理此命名空间中的任务。  [默认：全部]",
    "Concurrent reconciles.": "并发处理数。",
    "Run no job with more workers than this.": "不运行 worker 数超过此值的任务。",
    "Requests a second to the API server; 0 for no limit.  [default: 0]": (
        "每秒向 API server 发出的请求数；0 表示不限。  [默认：0]"
    ),
    "Requests at once within that limit.  [default: twice as many as a second]": (
        "该限制之内的瞬时请求数。  [默认：每秒请求数的两倍]"
    ),
    "Elect a leader among several operators; without, run only one.": (
        "在多个 operator 中选出领导者；不使用时只能运行一个。"
    ),
    "Namespace of the lease by which a leader is elected.": "选举领导者所用 lease 的命名空间。",
    "Start all pods of a job or none: volcano, or the name of a scheduler that knows PodGroups.": (
        "任务的 Pod 要么全部启动，要么都不启动：volcano，或支持 PodGroup 的调度器名称。"
    ),
    "Such as cluster.local: makes host names complete.": "如 cluster.local：使主机名完整。",
    "Brings kubectl to launchers whose own image has none.": "为镜像中没有 kubectl 的 launcher 提供 kubectl。",
    "Serve /healthz and /readyz; 0 takes any free port.": "提供 /healthz 和 /readyz；0 表示任一空闲端口。",
    "Serve /metrics; 0 as above.": "提供 /metrics；0 同上。",
    "Serve the webhook that rejects invalid jobs; 0 as above.": "提供拒绝无效任务的 webhook；0 同上。",
    "Service in the lock's namespace by which the API server finds the webhook.  [default: on this machine]": (
        "lease 命名空间中的 Service，API server 由此找到 webhook。  [默认：在本机]"
    ),
    "Where the API server finds the webhook, if not on this machine and not by a Service.": (
        "若不在本机也不经 Service，API server 访问 webhook 的地址。"
    ),
    "Reject jobs while the webhook is unreachable.": "webhook 无法访问时拒绝任务。",
    "Format of log lines.": "日志行的格式。",
    "Log every step.": "记录每个步骤。",
}
