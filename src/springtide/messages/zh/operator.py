# SPDX-License-Identifier: Apache-2.0
"""Chinese for what the operator records of a job in English: clauses by template, in the notation of `recorded`.

The first template that fits counts: longer ones come before their beginnings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_ENDINGS: Final[Mapping[str, str]] = {
    "Job has reached the specified backoff limit": "batch Job 达到了规定的重试上限",
    "Job was active longer than specified deadline": "batch Job 的运行时间超过了规定的期限",
    "Job has failed: {why:t}": "batch Job 已失败：{why}",
    "Job has failed": "batch Job 已失败",
    "{job} successfully completed": "{job} 已成功完成",
    "{kind:w} {job:w} has failed because its launcher did not run within {seconds:d} s ({source})": (
        "{kind} {job} 已失败，因为 launcher 未在 {seconds} 秒内运行（{source}）"
    ),
    "{ready:d} of {wanted:d} workers were ready: {why:t}": "{wanted} 个 worker 中有 {ready} 个就绪：{why}",
    "{ready:d} of {wanted:d} workers were ready": "{wanted} 个 worker 中有 {ready} 个就绪",
    "{kind:w} {job:w} has failed because it was active longer than specified deadline ({seconds:d} s)": (
        "{kind} {job} 已失败，因为运行时间超过了规定的期限（{seconds} 秒）"
    ),
    "{kind:w} {job:w} has failed because it has reached the specified backoff limit ({limit:d}): {why:t}": (
        "{kind} {job} 已失败，因为达到了规定的重试上限（{limit}）：{why}"
    ),
    "{kind:w} {job:w} has failed because it has reached the specified backoff limit ({limit:d})": (
        "{kind} {job} 已失败，因为达到了规定的重试上限（{limit}）"
    ),
    "{kind:w} {job:w} has failed: {why:t}": "{kind} {job} 已失败：{why}",
    "{kind:w} {job:w} has failed": "{kind} {job} 已失败",
    "launcher {name:w} {how:t}, like its {count:d} predecessors": "launcher {name} {how}，之前的 {count} 个也是如此",
    "{name:w} {how:t}, like its {count:d} predecessors": "{name} {how}，之前的 {count} 个也是如此",
    "launcher {name:w} was deleted and is not created again (launcher.restartPolicy {policy:w})": (
        "launcher {name} 已被删除，且不会重新创建（launcher.restartPolicy {policy}）"
    ),
    "{count:d}/{wanted:d} workers are evicted": "{wanted} 个 worker 中有 {count} 个被驱逐",
    "{names:c} [still runs|still run], because cleanPodPolicy is None": "{names} 仍在运行，因为 cleanPodPolicy 为 None",
    "to end it: {command}": "要结束它：{command}",
    "exited with code {code:e}: {said:q}; see {command}": "以退出码 {code} 结束：{said}；参见 {command}",
    "exited with code {code:e}; see {command}": "以退出码 {code} 结束；参见 {command}",
    "exited with code {code:e}: {said}": "以退出码 {code} 结束：{said}",
    "exited with code {code:e}": "以退出码 {code} 结束",
    "{pod:w} was lost with node {node:w}": "{pod} 随节点 {node} 丢失",
    "was lost with node {node:w}": "随节点 {node} 丢失",
    "was stopped with node {node:w}": "随节点 {node} 停止",
    "was evicted from node {node:w} by a taint": "因污点被逐出节点 {node}",
    "was evicted from node {node:w}": "被逐出节点 {node}",
    "was preempted on node {node:w}": "在节点 {node} 上被抢占",
    "was evicted: {said}": "被驱逐：{said}",
    "was evicted": "被驱逐",
    "was deleted": "被删除",
    "see {command}": "参见 {command}",
}
_STATES: Final[Mapping[str, str]] = {
    "The job is suspended and has no pods": "任务已暂停，没有 pod",
    "The job is suspended": "任务已暂停",
    "{count:d} of its pods [is|are] terminating": "其中 {count} 个 pod 正在终止",
    "The job has been accepted": "任务已受理",
    "The job waits: {ready:d} [worker|workers] ready, and it needs at least {least:d}": (
        "任务在等待：{ready} 个 worker 就绪，至少需要 {least} 个"
    ),
    "The job runs with {ready:d} of {wanted:d} workers": "任务以 {wanted} 个 worker 中的 {ready} 个运行",
    "The job runs with {count:d} [worker|workers]": "任务以 {count} 个 worker 运行",
    "The job runs with {crew:c}": "任务运行中：{crew}",
    "{others:t} and {count:d} [worker|workers]": "{others} 和 {count} 个 worker",
    "The job runs": "任务运行中",
    "{others:c} and {count:d} {role:w}": "{others} 和 {count} {role}",
    "{done:d} of {total:d} replicas [has|have] succeeded": "{total} 个副本中有 {done} 个已成功",
    "{count:d} of {wanted:d} workers [is|are] in the host list": "{wanted} 个 worker 中有 {count} 个在主机列表中",
    "{count:d} of {wanted:d} workers [is|are] ready": "{wanted} 个 worker 中有 {count} 个就绪",
    "{count:d} of {wanted:d} workers wait for a place on a node": "{wanted} 个 worker 中有 {count} 个在等待节点",
    "{count:d} of {total:d} replicas [is|are] waiting for a place on a node": "{total} 个副本中有 {count} 个在等待节点",
    "{count:d} of {total:d} replicas [is|are] ready": "{total} 个副本中有 {count} 个就绪",
    "{names:c} [is|are] not ready": "{names} 未就绪",
    "{count:d} [worker|workers] ready": "{count} 个 worker 就绪",
    "the launcher waits for a place on a node": "launcher 在等待节点",
    "the launcher is starting": "launcher 正在启动",
    "the launcher starts with all {count:d}": "launcher 在全部 {count} 个就绪后启动",
    "the launcher starts with at least {count:d}": "launcher 在至少 {count} 个就绪后启动",
    "the launcher starts with all workers, or at {at:c} with {ready:d} of {wanted:d} workers": (
        "launcher 在全部 worker 就绪后启动，或于 {at} 以 {wanted} 个中的 {ready} 个启动"
    ),
    "The launcher is terminating": "launcher 正在终止",
    "a new one starts when it has ended": "结束后会启动新的 launcher",
    "The job is tried again": "任务正在重试",
    "it was restarted, restart {count:d} of {limit:d}": "已重启，第 {count} 次，上限 {limit} 次",
    "{names} [is terminating within its grace period|are terminating within their grace periods]": (
        "{names} 正在宽限期内终止"
    ),
    "{names} [is|are] terminating": "{names} 正在终止",
    "{names} [is|are] not": "{names} 未就绪",
    "{pod:w} is on node {node:w}, which does not respond": "{pod} 所在的节点 {node} 没有响应",
    "it is created again elsewhere once Kubernetes has evicted it, after five minutes by default": (
        "Kubernetes 驱逐它之后（默认五分钟）会在别处重新创建"
    ),
    "it is not deleted by force ({annotation}), so once the node is surely down: {command}": (
        "它不会被强制删除（{annotation}），确认节点已停机后请执行：{command}"
    ),
}
_WAITS: Final[Mapping[str, str]] = {
    "{scaler:w} {name:w}: {names} left the host list": "{scaler} {name}：{names} 已移出主机列表",
    "{names} left the host list": "{names} 已移出主机列表",
    "[it|each] is deleted as soon as the launcher no longer uses it, at {at:c} at the latest": (
        "launcher 不再使用后即删除，最迟于 {at}"
    ),
    "{names} [joins|join] at {at:c}, because the launcher overlooks hosts that are added soon after its start "
    "(annotation {annotation})": "{names} 于 {at} 加入，因为 launcher 会忽略启动后很快加入的主机（注解 {annotation}）",
    "a failed worker is replaced at {at:c}": "失败的 worker 将于 {at} 被替换",
    "{count:d} failed workers are replaced, the first at {at:c}": "{count} 个失败的 worker 将被替换，第一个于 {at}",
    "[The launcher|the launcher] failed and is created again at {at:c}, retry {count:d} of {limit:d}": (
        "launcher 失败，将于 {at} 重新创建，第 {count} 次重试，上限 {limit} 次"
    ),
    "[The launcher|the launcher] failed and is created again at {at:c}": "launcher 失败，将于 {at} 重新创建",
    "A replica failed and is created again at {at:c}, retry {count:d} of {limit:d}": (
        "一个副本失败，将于 {at} 重新创建，第 {count} 次重试，上限 {limit} 次"
    ),
    "A replica failed and is created again at {at:c}": "一个副本失败，将于 {at} 重新创建",
    "{names} have ended and are not replaced ({rule})": "{names} 已结束且不会被替换（{rule}）",
    "{names} have ended and are not replaced ({rule}), and the launcher starts with {count:d} workers": (
        "{names} 已结束且不会被替换（{rule}），而 launcher 需要 {count} 个 worker 才启动"
    ),
    "{pod:w} {how:t} and is not replaced ({rule}), and the launcher starts with {count:d} workers": (
        "{pod} {how}，且不会被替换（{rule}），而 launcher 需要 {count} 个 worker 才启动"
    ),
    "{pod:w} {how:t} and is not replaced ({rule})": "{pod} {how}，且不会被替换（{rule}）",
    "{count:d} of {wanted:d} workers [trains|train]": "{wanted} 个 worker 中有 {count} 个在训练",
    "the others are joining": "其余的正在加入",
    "{count:d} of {needed:d} required ranks [has|have] joined": "需要的 {needed} 个 rank 中有 {count} 个已加入",
    "{count:d} of {needed:d} required ranks [has|have] started": "需要的 {needed} 个 rank 中有 {count} 个已启动",
    "{host:w} is not needed with --max-np {most:d}": "{host} 因 --max-np {most} 而不需要",
    "{host:w} runs a rank that has not joined": "{host} 运行着一个尚未加入的 rank",
    "{host:w} does not answer": "{host} 没有应答",
    "{host:w} could not be started: {why}": "{host} 无法启动：{why}",
    "{host:w} was killed by {signal:w}": "{host} 被 {signal} 终止",
    "{host:w} is in back-off after a failure until {at:c}": "{host} 在失败后退避到 {at}",
    "{host:w} is in back-off after a failure": "{host} 在失败后退避中",
    "{scaler:w} {name:w}: {script} failed and is run again at {at:c}": (
        "{scaler} {name}：{script} 失败，将于 {at} 再次运行"
    ),
    "{scaler:w} {name:w}: {script} runs in the launcher": "{scaler} {name}：{script} 正在 launcher 中运行",
    "{scaler:w} {name:w}: the workers are deleted, and the new size is written to the job": (
        "{scaler} {name}：worker 已删除，正把新规模写入任务"
    ),
    "{scaler:w} {name:w}: the new workers are in the host list": "{scaler} {name}：新 worker 已在主机列表中",
    "{scaler:w} {name:w}: all new workers are ready": "{scaler} {name}：新 worker 已全部就绪",
    "they are added to the host list together": "它们将一起加入主机列表",
    "{scaler:w} {name:w}: {ready:d} of {count:d} new workers [is|are] ready": (
        "{scaler} {name}：{count} 个新 worker 中有 {ready} 个就绪"
    ),
    "all of them are removed again unless they are by {at:c}": "若到 {at} 仍未全部就绪，将全部移除",
    "{scaler:w} {name:w}: {names} [is|are] terminating": "{scaler} {name}：{names} 正在终止",
}
_CAUSES: Final[Mapping[str, str]] = {
    "{who:t} cannot be scheduled before all gates are removed: {said}": "所有调度门移除之前，{who} 无法调度：{said}",
    "{who:t} cannot be scheduled before all gates are removed": "所有调度门移除之前，{who} 无法调度",
    "{who:t} cannot be scheduled: {said:q}; see {command}": "{who} 无法调度：{said}；参见 {command}",
    "{who:t} cannot be scheduled: {said}": "{who} 无法调度：{said}",
    "{who:t} cannot be scheduled; see {command}": "{who} 无法调度；参见 {command}",
    "{who:t} cannot pull an image: {said:q}; see {command}": "{who} 无法拉取镜像：{said}；参见 {command}",
    "{who:t} cannot pull an image: {said}": "{who} 无法拉取镜像：{said}",
    "{who:t} cannot start: {said:q}; see {command}": "{who} 无法启动：{said}；参见 {command}",
    "{who:t} cannot start: {said}": "{who} 无法启动：{said}",
    "A worker pod cannot be created: {said:q}; see {command}": "无法创建 worker 的 pod：{said}；参见 {command}",
    "A worker pod cannot be created: {said}": "无法创建 worker 的 pod：{said}",
    "The launcher's pod cannot be created: {said:q}; see {command}": "无法创建 launcher 的 pod：{said}；参见 {command}",
    "The launcher's pod cannot be created: {said}": "无法创建 launcher 的 pod：{said}",
    "{what} cannot be created: {said:q}; see {command}": "无法创建 {what}：{said}；参见 {command}",
    "{who:t} [have|has] been pulling images or creating containers since {at:c}": (
        "{who} 自 {at} 起在拉取镜像或创建容器"
    ),
    "{who:t} [have|has] been pulling images or creating containers": "{who} 在拉取镜像或创建容器",
    "{who:t} [have|has] been waiting for volumes and network since {at:c}": "{who} 自 {at} 起在等待存储卷和网络",
    "{who:t} [have|has] been waiting for volumes and network": "{who} 在等待存储卷和网络",
    "Container {container:w} of {pod:w} keeps crashing: it {how:t}; see {command}": (
        "{pod} 的容器 {container} 反复崩溃：它{how}；参见 {command}"
    ),
    "Container {container:w} of {pod:w} keeps crashing; see {command}": (
        "{pod} 的容器 {container} 反复崩溃；参见 {command}"
    ),
    "Container {container:w} of {pod:w} keeps crashing, and so does that of another pod: it {how:t}; see {command}": (
        "{pod} 的容器 {container} 反复崩溃，另一个 pod 也是如此：它{how}；参见 {command}"
    ),
    "Container {container:w} of {pod:w} keeps crashing, and so do those of {more:d} more pods: it {how:t}; "
    "see {command}": "{pod} 的容器 {container} 反复崩溃，另外 {more} 个 pod 也是如此：它{how}；参见 {command}",
    "{count:d} of {wanted:d} workers and {pod:w} and {more:d} more": (
        "{wanted} 个 worker 中的 {count} 个、{pod} 和另外 {more} 个 pod"
    ),
    "{count:d} of {wanted:d} workers and {pod:w}": "{wanted} 个 worker 中的 {count} 个和 {pod}",
    "{count:d} of {wanted:d} workers": "{wanted} 个 worker 中的 {count} 个",
    "{one:w} and {other:w} and {more:d} more": "{one}、{other} 和另外 {more} 个 pod",
    "{count:d} [worker|workers]": "{count} 个 worker",
    "{count:d} {role:w} [replica|replicas]": "{count} 个 {role} 副本",
    "{pod:w} and {more:d} more": "{pod} 和另外 {more} 个 pod",
    "{names} and {more:d} more": "{names} 和另外 {more} 个",
    "{one:w} and {other:w}": "{one} 和 {other}",
}
_SIZES: Final[Mapping[str, str]] = {
    "{asked:d} workers are requested, {count:d} run: must be {bounds:t}": (
        "要求 {asked} 个 worker，运行 {count} 个：必须{bounds}"
    ),
    "at least {least:d}, as {source:t} says": "至少为 {least}（依据 {source}）",
    "between {least:d} and {most:d}, as {source:t} says": "在 {least} 和 {most} 之间（依据 {source}）",
    "spec.elasticPolicy and the launcher's command line": "spec.elasticPolicy 和 launcher 的命令行",
    "the launcher's command line": "launcher 的命令行",
    "{used:d} [worker trains|workers train], {asked:d} [is|are] requested: {rigid:t}, so the new size counts from "
    "the launcher's next start": (
        "{used} 个 worker 在训练，要求 {asked} 个：{rigid}，因此新规模从 launcher 下次启动起生效"
    ),
    "{used:d} of {wanted:d} workers [trains|train]": "{wanted} 个 worker 中有 {used} 个在训练",
    "the other {count:d} count from the launcher's next start: {rigid:t}": (
        "另外 {count} 个从 launcher 下次启动起计入：{rigid}"
    ),
    "the {ordinal:w} counts from the launcher's next start: {rigid:t}": "最后一个从 launcher 下次启动起计入：{rigid}",
    "{asked:d} [worker|workers] [is|are] requested, {kept:d} [runs|run]: {rigid:t}": (
        "要求 {asked} 个 worker，运行 {kept} 个：{rigid}"
    ),
    "{asked:d} {role:w} [replica|replicas] [is|are] requested, {kept:d} [runs|run]: {rigid:t}": (
        "要求 {asked} 个 {role} 副本，运行 {kept} 个：{rigid}"
    ),
    "{asked:d} {role:w} [replica|replicas] [is|are] requested, {kept:d} [runs|run], {rest:t}": (
        "要求 {asked} 个 {role} 副本，运行 {kept} 个，{rest}"
    ),
    "suspend and resume the job to start anew with the requested size": "暂停再恢复任务，即以要求的规模重新启动",
    "only the size of {role:w} can change while the job runs": "任务运行时只有 {role} 的规模可以改变",
    "{program:w} is not elastic without {options}": "没有 {options} 的 {program} 不是弹性的",
    "{program:w} is not elastic": "{program} 不是弹性的",
    "the launcher is not known to be elastic ({field} declares that it is)": (
        "不知道 launcher 是否为弹性（{field} 可声明它是）"
    ),
    "the job is not started": "任务不会启动",
    "{name:w} has {size:d} bytes, and Linux passes at most {most:d} in one variable to a program: {why:t}": (
        "{name} 有 {size} 字节，而 Linux 传给程序的一个变量最多 {most} 字节：{why}"
    ),
    "PyTorch's packages come without MPI: use the backend gloo or nccl, build PyTorch from source, or run the program "
    "as an MPIJob with mpi4py": (
        "PyTorch 的安装包不带 MPI：请用 gloo 或 nccl 后端，从源码构建 PyTorch，或用 mpi4py 把程序作为 MPIJob 运行"
    ),
    "shorten {field:w}": "请缩短 {field}",
    "ask for fewer replicas, or set spec.enableDynamicWorker: then replicas get only their own address and those of "
    "the PS": "请减少副本，或设置 spec.enableDynamicWorker：那样副本只得到自己和 PS 的地址",
    "ask for fewer replicas": "请减少副本",
    "a TFJob without spec.enableDynamicWorker keeps its size while it runs": (
        "没有 spec.enableDynamicWorker 的 TFJob 在运行时保持规模不变"
    ),
    "a PyTorchJob without spec.elasticPolicy keeps its size while it runs": (
        "没有 spec.elasticPolicy 的 PyTorchJob 在运行时保持规模不变"
    ),
    "{asked:c} [is|are] requested, at most {most:d} are allowed: the job continues with {kept:d}": (
        "要求 {asked}，最多允许 {most} 个：任务以 {kept} 个继续"
    ),
    "{asked:c} [is|are] requested, at most {most:d} are allowed: the job is not started": (
        "要求 {asked}，最多允许 {most} 个：任务不会启动"
    ),
    "the operator runs no larger jobs, and {source:t} asks for at least {least:d}": (
        "operator 不运行更大的任务，而 {source} 至少要求 {least} 个"
    ),
    "the operator runs no larger jobs": "operator 不运行更大的任务",
    "ask for fewer workers, or raise its --max-workers-per-job": "请减少 worker，或提高它的 --max-workers-per-job",
    "{asked:c} [is|are] requested, but the launcher cannot start with fewer than {least:d}: {why:t}": (
        "要求 {asked}，但 launcher 至少需要 {least} 个才能启动：{why}"
    ),
    "{program:w} {option:w} {count:d} waits for {slots:d} slots, and a worker has {each:d}": (
        "{program} {option} {count} 等待 {slots} 个 slot，而一个 worker 有 {each} 个"
    ),
    "horovodrun needs two hosts to find out which network interface they share": (
        "horovodrun 需要两台主机才能找出共同的网络接口"
    ),
    "ask for {count:d} workers or {remedy:t}": "请要求 {count} 个 worker，或{remedy}",
    "name the interface with --network-interface": "用 --network-interface 指定接口",
    "lower {option:w}, or use tiderun, which starts with --min-np": ("降低 {option}，或使用以 --min-np 启动的 tiderun"),
    "lower {option:w}": "降低 {option}",
    "No more workers can be named: {name:w} has more than {count:d} characters": (
        "无法再为 worker 命名：{name} 超过 {count} 个字符"
    ),
    "shorten the job's name": "请缩短任务名",
    "The job waits until objects of an earlier {kind} of the same name are deleted: {names}": (
        "任务在等待同名的早先 {kind} 的对象被删除：{names}"
    ),
    "their grace periods end by {at:c}": "它们的宽限期最迟于 {at} 结束",
    "Found validation errors: {said}": "校验错误：{said}",
}
_BARE: Final[Mapping[str, str]] = {
    f"{{pod:w}} {how}": f"{{pod}} {chinese}" for how, chinese in _ENDINGS.items() if how.startswith(("exited ", "was "))
}
"""What a pod did, where it is named."""
CLAUSES: Final[Mapping[str, str]] = {**_SIZES, **_CAUSES, **_ENDINGS, **_WAITS, **_STATES, **_BARE}
