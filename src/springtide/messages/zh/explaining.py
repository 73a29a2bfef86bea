# SPDX-License-Identifier: Apache-2.0
"""Why a job is in its state, and whether a cluster can run jobs."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "Evidence:": "依据：",
    "Next: {command}": "下一步：{command}",
    "Also: {why}.": "另外：{why}。",
    "{pod} and 1 more pod": "{pod} 和另外 1 个 pod",
    "{pod} and {more} more pods": "{pod} 和另外 {more} 个 pod",
    "empty": "空",
    "nobody": "无人持有",
    "no such lease in any namespace": "任何命名空间中都没有这个 lease",
    "{holder} renewed it at {at}": "{holder} 于 {at} 续约",
    # The job, its state and the cause.
    "Job {job} has no pods yet: {why}.": "任务 {job} 还没有 pod：{why}。",
    "Job {job} is queued: {why}.": "任务 {job} 在排队：{why}。",
    "Job {job} cannot start yet: {why}.": "任务 {job} 还不能启动：{why}。",
    "Job {job} is restarting: {why}.": "任务 {job} 在重启：{why}。",
    "Job {job} is scaling out and has {workers} workers: {why}.": "任务 {job} 在扩容，worker 为 {workers}：{why}。",
    "Job {job} is scaling in and has {workers} workers: {why}.": "任务 {job} 在缩容，worker 为 {workers}：{why}。",
    "Job {job} runs with {workers} workers: {why}.": "任务 {job} 在运行，worker 为 {workers}：{why}。",
    "Job {job} waits: {why}.": "任务 {job} 在等待：{why}。",
    # Rejected pods.
    "quota {quota} of namespace {namespace} demands that pods specify {what}": (
        "命名空间 {namespace} 的配额 {quota} 要求 pod 写明 {what}"
    ),
    "quota {quota} of namespace {namespace} allows {limit}; {used} is in use, and a pod needs {asked} more": (
        "命名空间 {namespace} 的配额 {quota} 允许 {limit}；已用 {used}，一个 pod 还需要 {asked}"
    ),
    "a quota of namespace {namespace} is used up": "命名空间 {namespace} 的一个配额已用完",
    "the API server rejects a pod: {said}": "API 服务器拒绝创建 pod：{said}",
    "objects of an earlier job of this name still exist, and the job starts when they are gone": (
        "同名的早先任务还有对象存在，它们消失后任务就会启动"
    ),
    "an object that it needs exists already and belongs to another owner": "它需要的一个对象已存在，且不属于它",
    "it is not valid: {said}": "它不合法：{said}",
    # Images and containers.
    "{image} is no valid name of an image": "{image} 不是合法的镜像名",
    "no environment of this cluster fits image {image} of {pod}": "本集群没有与 {pod} 的镜像 {image} 相符的环境",
    "image {image} of {pod} cannot be pulled: {said}": "无法拉取 {pod} 的镜像 {image}：{said}",
    "container {container} of {pod} cannot start: {said}": "{pod} 的容器 {container} 无法启动：{said}",
    "container {container} of {pod} keeps crashing: it {ended}": "{pod} 的容器 {container} 反复崩溃：它{ended}",
    "used more memory than its limit of {limit} (OOMKilled)": "使用的内存超过了上限 {limit}（OOMKilled）",
    "ran out of memory (OOMKilled)": "耗尽了内存（OOMKilled）",
    "was ended by signal {signal}, exit code {code}": "被信号 {signal} 终止，退出码 {code}",
    "could not be started: {said}": "无法启动：{said}",
    "exited with code {code}": "以退出码 {code} 结束",
    # Who reconciles the job.
    "Job {job} is being deleted since {at}; its pods are terminating.": (
        "任务 {job} 自 {at} 起正在删除；它的 pod 正在终止。"
    ),
    "Job {job} is being deleted since {at}, and waits for its finalizers: {finalizers}.": (
        "任务 {job} 自 {at} 起正在删除，等待它的 finalizer：{finalizers}。"
    ),
    "Job {job} is managed by another controller, {manager}; this operator leaves it alone.": (
        "任务 {job} 由另一个控制器 {manager} 管理；本 operator 不处理它。"
    ),
    "Job {job} has just been created; the operator takes it up now.": "任务 {job} 刚刚创建；operator 即将处理它。",
    "Job {job} has no status, although an operator runs: it may not serve this kind or namespace.": (
        "operator 在运行，任务 {job} 却没有状态：它可能不处理这种任务或这个命名空间。"
    ),
    "Job {job} is not reconciled: no operator runs in this cluster.": (
        "任务 {job} 没有得到处理：本集群没有 operator 在运行。"
    ),
    "Job {job} has no status: no operator has reconciled it.": "任务 {job} 没有状态：没有 operator 处理过它。",
    # Endings.
    "Job {job} has succeeded.": "任务 {job} 已成功。",
    "Job {job} has succeeded at {at}.": "任务 {job} 已于 {at} 成功。",
    "Job {job} has failed: container {container} of {pod} {ended}.": (
        "任务 {job} 已失败：{pod} 的容器 {container} {ended}。"
    ),
    "Job {job} has failed.": "任务 {job} 已失败。",
    "Job {job} is suspended until queue {queue} admits it.": "任务 {job} 已暂停，等待队列 {queue} 接纳。",
    "Job {job} is suspended on request, and has no pods.": "任务 {job} 已按要求暂停，没有 pod。",
    "Job {job} is suspended on request; pods still terminating: {count}.": (
        "任务 {job} 已按要求暂停；仍在终止的 pod：{count} 个。"
    ),
    # Nodes.
    "node {node}, on which {pod} ran, no longer exists": "{pod} 所在的节点 {node} 已不存在",
    "node {node}, on which {pod} runs, does not respond": "{pod} 所在的节点 {node} 没有响应",
    "node {node}, on which {pod} runs, has not responded since {since}": (
        "{pod} 所在的节点 {node} 自 {since} 起没有响应"
    ),
    "{lost} was lost with node {node}, and no other node takes {pod}": (
        "{lost} 随节点 {node} 丢失，而没有其他节点能放下 {pod}"
    ),
    "node {node} takes no new pods: it is cordoned": "节点 {node} 不接受新 pod：它已被封锁",
    "{count} nodes take no new pods: they are cordoned": "{count} 个节点不接受新 pod：它们已被封锁",
    "node {node} has the taint {taint}, which {pod} does not tolerate": "节点 {node} 有污点 {taint}，而 {pod} 不容忍它",
    "{count} nodes have taints such as {taint}, which {pod} does not tolerate": (
        "{count} 个节点有 {taint} 之类的污点，而 {pod} 不容忍它们"
    ),
    "{who} tolerates no taint of the nodes": "{who} 不容忍这些节点的污点",
    "no node has the labels that {pod} asks for": "没有节点带有 {pod} 要求的标签",
    "no node has the labels {labels} that {pod} asks for": "没有节点带有 {pod} 要求的标签 {labels}",
    "the cluster has no nodes": "集群没有节点",
    "no node of the cluster offers {resource}; {who} requests {amount}": (
        "集群中没有节点提供 {resource}；{who} 申请了 {amount}"
    ),
    "no node of the cluster offers {resource}; {who} request {amount} each": (
        "集群中没有节点提供 {resource}；{who} 各申请了 {amount}"
    ),
    "{pod} requests {amount} {resource}, and the largest node, {node}, has {most} in all": (
        "{pod} 申请 {resource} {amount}，而最大的节点 {node} 总共只有 {most}"
    ),
    "no node has {amount} {resource} free, which {pod} requests": "没有节点有 {pod} 申请的空闲 {resource} {amount}",
    "no node takes {who}: {said}": "没有节点能放下 {who}：{said}",
    "holds {amount} {resource} on node {node} (namespace {namespace})": (
        "在节点 {node} 上占用 {resource} {amount}（命名空间 {namespace}）"
    ),
    "its pods start all at once or not at all, and not all of them fit at the same time": (
        "它的 pod 要么全部启动、要么都不启动，而现在放不下全部"
    ),
    "its pods start as a gang of {least}, and the nodes have no room for {least} of them at the same time": (
        "它的 pod 成组调度，至少 {least} 个一起启动，而节点现在放不下 {least} 个"
    ),
    # Volumes.
    "volume claim {claim} of {pod} does not exist": "{pod} 的存储卷声明 {claim} 不存在",
    "a volume claim of {pod} is not bound": "{pod} 的一个存储卷声明没有绑定",
    "volume claim {claim} of {pod} is not bound: {why}": "{pod} 的存储卷声明 {claim} 没有绑定：{why}",
    "a volume of {pod} cannot be mounted: {said}": "无法挂载 {pod} 的一个存储卷：{said}",
    "storage class {storage} does not exist": "存储类 {storage} 不存在",
    "it names no storage class, and the cluster has no default one": "它没有写明存储类，而集群没有默认存储类",
    "it names no storage class, and no volume of the cluster fits it": "它没有写明存储类，而集群中没有合适的存储卷",
    "no volume fits it": "没有合适的存储卷",
    # Sizes.
    "its size is out of bounds: {said}": "它的规模超出上下限：{said}",
    "{asked} workers are requested, and its bounds allow at least {least}": (
        "要求 {asked} 个 worker，而上下限至少为 {least} 个"
    ),
    "{asked} workers are requested, and its bounds allow {least} to {most}": (
        "要求 {asked} 个 worker，而上下限为 {least} 到 {most} 个"
    ),
    "the operator runs no job of this size": "operator 不运行这种规模的任务",
    "{asked} requested, and the operator runs at most {most} in a job": (
        "要求 {asked}，而 operator 在一个任务中最多运行 {most} 个"
    ),
    "the new size counts from the next start: {said}": "新规模从下次启动起生效：{said}",
    # Progress.
    "Job {job} has been accepted, and its pods are being created.": "任务 {job} 已受理，正在创建它的 pod。",
    "The job fails unless its launcher runs by {until} (max-wait-time).": (
        "若 launcher 到 {until} 仍未运行，任务将失败（max-wait-time）。"
    ),
    "Job {job} is restarting: {said}": "任务 {job} 在重启：{said}",
    "Job {job} is scaling out, step {step} of {steps}, {what}: {said}": (
        "任务 {job} 在扩容，共 {steps} 步，第 {step} 步，{what}：{said}"
    ),
    "Job {job} is scaling in: {said}": "任务 {job} 在缩容：{said}",
    "workers are being created": "正在创建 worker",
    "workers are starting": "worker 正在启动",
    "workers are being added to the host list": "正在把 worker 加入主机列表",
    "ranks are joining": "rank 正在加入",
    "Job {job} is running.": "任务 {job} 在运行。",
    "Job {job} is running: {said}": "任务 {job} 在运行：{said}",
    "Job {job} is waiting for its pods.": "任务 {job} 在等待它的 pod。",
    "Job {job} is queued: {said}": "任务 {job} 在排队：{said}",
    "Job {job} is starting: {said}": "任务 {job} 在启动：{said}",
    "Job {job}: {said}": "任务 {job}：{said}",
}
