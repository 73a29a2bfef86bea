# SPDX-License-Identifier: Apache-2.0
"""Commands that change jobs: submit, run, scale, suspend, restart, clone, diff, wait."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "{why}": "{why}",
    "{state}: {why}": "{state}：{why}",
    "{name}: {state}": "{name}：{state}",
    "{line}. {why}": "{line}。{why}",
    # Finding jobs
    "There is no job {name} in namespace {namespace}.": "命名空间 {namespace} 中没有任务 {name}。",
    "did you mean {name}?": "您是指 {name} 吗？",
    "the jobs there: {names}": "该命名空间中的任务：{names}",
    "there is no job in it at all; those of all namespaces: {command}": "其中没有任何任务；查看所有命名空间：{command}",
    "There are several jobs {name}: {kinds}.": "有多个名为 {name} 的任务：{kinds}。",
    "choose one with: {option}": "请指定其中一个：{option}",
    "There is no type of jobs {type}.": "没有任务类型 {type}。",
    "types are: {types}": "可用类型：{types}",
    "see the job: {command}": "查看任务：{command}",
    "See it: {command}": "查看：{command}",
    "Follow it: {command}": "跟踪日志：{command}",
    "follow it: {command}": "跟踪日志：{command}",
    "read its log: {command}": "查看日志：{command}",
    "see why it takes so long: {command}": "查看耗时原因：{command}",
    "Job {name} was deleted meanwhile.": "任务 {name} 在此期间已被删除。",
    # Manifests
    "There is no object in {files}.": "{files} 中没有任何对象。",
    "{name} is of namespace {own}, not {chosen}.": "{name} 属于命名空间 {own}，而不是 {chosen}。",
    "leave out {option}": "请去掉 {option}",
    "leave out {options}": "请去掉 {options}",
    "A document in {file} is no object.": "{file} 中有一个文档不是对象。",
    "An object in {file} lacks {fields}.": "{file} 中有一个对象缺少 {fields}。",
    "{file} cannot be read.": "无法读取 {file}。",
    "{file} is neither YAML nor JSON.": "{file} 既不是 YAML 也不是 JSON。",
    "see an example: {command}": "参考示例：{command}",
    "{kind} {name} exists already.": "{kind} {name} 已存在。",
    "{kind} {name} is not valid.": "{kind} {name} 无效。",
    "compare the two: {command}": "比较两者：{command}",
    "compare the two: {compare}; or give yours another name, or delete that one: {delete}": (
        "比较两者：{compare}；或为您的任务换一个名称，或删除已有的任务：{delete}"
    ),
    "{name} created": "{name} 已创建",
    "{name} created (server dry run)": "{name} 已创建（服务器端试运行）",
    "The cluster has no kind {kind} of {version}.": "集群没有 {version} 的类型 {kind}。",
    "it is misspelled, or its CustomResourceDefinition is not installed": (
        "拼写有误，或未安装其 CustomResourceDefinition"
    ),
    "the kinds it has: {command}": "集群支持的类型：{command}",
    "{name} cannot be the name of a job.": "{name} 不能用作任务名称。",
    # Resizing
    "{job}: {start} → {target} workers ({range} allowed)": "{job}：worker 数 {start} → {target}（范围：{range}）",
    "{job} has {size} workers already.": "{job} 已有 {size} 个 worker。",
    "Job {name} has {size} workers.": "任务 {name} 现有 {size} 个 worker。",
    "Job {name} is to have {size} workers, but does not have them yet.": (
        "任务 {name} 将有 {size} 个 worker，但尚未生效。"
    ),
    "Job {name} does not have {size} workers in time.": "任务 {name} 未能按时达到 {size} 个 worker。",
    "Job {name} was not resized.": "任务 {name} 未能调整规模。",
    "Job {name} cannot be resized.": "任务 {name} 无法调整规模。",
    "Job {name} cannot have {size} workers.": "任务 {name} 不能有 {size} 个 worker。",
    "Job {name} has no workers.": "任务 {name} 没有 worker。",
    "Job {name} has no worker {pods}.": "任务 {name} 没有 worker {pods}。",
    "Job {name} cannot run a script when it is resized.": "任务 {name} 调整规模时不能运行脚本。",
    "only TrainingJobs that run have ScaleOuts and ScaleIns, which run scripts": (
        "只有正在运行的 TrainingJob 才有能运行脚本的 ScaleOut 和 ScaleIn"
    ),
    "its workers are {names}": "它的 worker 是 {names}",
    "its spec allows {range}": "其 spec 规定的范围：{range}",
    "it has {now} and may have {range}": "现有 {now} 个，范围：{range}",
    "it has no workers: its spec has no role Worker": "它没有 worker：spec 中没有 Worker 角色",
    "it has finished: {state}": "任务已结束：{state}",
    "at least {min}": "至少 {min}",
    "{min} to {max}": "{min} 到 {max}",
    "the nearest size: {command}": "最接近的规模：{command}",
    "it has the nearest size already; other bounds need a change of the job's spec": (
        "已是最接近的规模；要改变上下限，需修改任务的 spec"
    ),
    "start it again with that size: {command}": "以该规模重新启动：{command}",
    "apply it at once, from the last checkpoint: {command}": "立即生效，从上一个检查点继续：{command}",
    "resume it: {command}": "恢复任务：{command}",
    "the resize may go on; see why it takes so long: {command}": "调整可能仍在继续；查看耗时原因：{command}",
    "The resize, if it has begun, goes on without this command.": "若调整已开始，它会在没有此命令的情况下继续。",
    "{asked} is no number of workers.": "{asked} 不是 worker 的数量。",
    "write a number, as in 4, or a change, as in +1 or -1": "请写数量（如 4），或变化量（如 +1、-1）",
    "{number} pods are named, and {fewer} are to go.": "指定了 {number} 个 Pod，而要减少的是 {fewer} 个。",
    "remove exactly these: {command}": "只移除这些：{command}",
    "the new size is accepted": "新规模已被接受",
    "worker pods are created": "已创建 worker Pod",
    "worker pods are ready": "worker Pod 已就绪",
    "the host list is updated": "主机列表已更新",
    "the new ranks train": "新的 rank 开始训练",
    "the surplus ranks have left": "多余的 rank 已离开",
    "surplus workers are drained": "多余的 worker 已排空",
    "surplus pods are deleted": "多余的 Pod 已删除",
    "not with this kind of job": "此类任务没有这一步",
    "{count} of {target}": "{target} 个中的 {count} 个",
    "{count} of {target}; {pod}: {why}": "{target} 个中的 {count} 个；{pod}：{why}",
    "not yet: {step}; {why}": "尚未完成：{step}；{why}",
    "the job was deleted": "任务已被删除",
    "the job has finished before: {state}": "任务在此之前已结束：{state}",
    "the job is suspended; the size counts when it is resumed": "任务已挂起；恢复后新规模才生效",
    "another change gave the job {size} workers": "另一次修改使任务有 {size} 个 worker",
    "the scaler was deleted, which cancels the resize": "伸缩对象已被删除，调整随之取消",
    "the job has {size} workers": "任务有 {size} 个 worker",
    # Suspending and restarting
    "Job {name} cannot be suspended.": "任务 {name} 无法挂起。",
    "Job {name} cannot be resumed.": "任务 {name} 无法恢复。",
    "start it again with: {command}": "重新启动：{command}",
    "Job {name} is being suspended.": "任务 {name} 正在挂起。",
    "Job {name} is suspended already.": "任务 {name} 已处于挂起状态。",
    "Job {name} is suspended and has no pods.": "任务 {name} 已挂起，没有 Pod。",
    "Job {name} is not suspended.": "任务 {name} 没有挂起。",
    "Job {name} is resumed.": "任务 {name} 已恢复。",
    "Job {name} was resumed meanwhile.": "任务 {name} 在此期间已被恢复。",
    "Resume it: {command}": "恢复任务：{command}",
    "Job {name} has not stopped in time.": "任务 {name} 未能按时停止。",
    "these pods still run: {pods}": "这些 Pod 仍在运行：{pods}",
    "Restart {job}? What it has trained since its last checkpoint is lost.": (
        "重新启动 {job}？自上一个检查点以来的训练结果将丢失。"
    ),
    "Create {job} anew? It has finished ({state}); its pods and their logs are deleted.": (
        "重新创建 {job}？它已结束（{state}）；其 Pod 和日志将被删除。"
    ),
    "Job {name} starts again.": "任务 {name} 重新启动。",
    "Job {name} is created anew.": "任务 {name} 已重新创建。",
    "Job {name} is deleted, and was not created again.": "任务 {name} 已删除，但未能重新创建。",
    "the restart was interrupted, or took too long; its manifest is kept in {file}": (
        "重新启动被中断或耗时过长；其清单保存在 {file}"
    ),
    "create it with: {command}": "创建：{command}",
    "{name} is not deleted in time.": "{name} 未能按时删除。",
    # Questions
    "This needs your agreement, and there is no terminal to ask at.": "此操作需要您确认，但没有可供询问的终端。",
    "agree with {option}": "用 {option} 确认",
    "Nothing was changed.": "未作任何更改。",
    # Waiting
    "Job {name} has succeeded.": "任务 {name} 已成功。",
    "Job {name} has failed.": "任务 {name} 已失败。",
    "Job {name} has not finished.": "任务 {name} 尚未结束。",
    "Job {name} has not finished in time.": "任务 {name} 未能按时结束。",
    "Job {name} was deleted before it finished.": "任务 {name} 在结束前已被删除。",
    # tide run
    "the log cannot be read to its end: {why}": "无法读完日志：{why}",
    "Environment: {environment}": "环境：{environment}",
    "image {image}": "镜像 {image}",
    "environment {name}": "环境 {name}",
    "the active virtual environment {path}": "当前激活的虚拟环境 {path}",
    "the active conda environment {path}": "当前激活的 conda 环境 {path}",
    "the virtual environment of this directory, {path}": "本目录的虚拟环境 {path}",
    "an environment made from {path}": "由 {path} 创建的环境",
    "the environment that runs tide, {path}": "运行 tide 的环境 {path}",
    "The environment of this directory cannot be made.": "无法创建本目录的环境。",
    "There is no environment {name}.": "没有环境 {name}。",
    "there are: {names}; make one: {command}": "现有环境：{names}；创建一个：{command}",
    "choose another: {option}": "选择另一个：{option}",
    "MPIJob {name}: {workers} workers, {min} to {max} allowed": (
        "MPIJob {name}：{workers} 个 worker，允许 {min} 到 {max}"
    ),
    "Resize it while it trains: {command}": "训练时调整规模：{command}",
    "{options} does not fit: {min} ≤ {workers} ≤ {max} does not hold.": (
        "{options} 不合适：{min} ≤ {workers} ≤ {max} 不成立。"
    ),
    "choose --min ≤ --workers ≤ --max": "请使 --min ≤ --workers ≤ --max",
    "This cluster is not on this machine: a job needs an image there.": "该集群不在本机：任务需要镜像。",
    "its pods do not see this directory; the image holds the program and tiderun": (
        "它的 Pod 看不到本目录；镜像中须有程序和 tiderun"
    ),
    "name it: {option}": "请指定：{option}",
    "The directory / cannot be mounted into pods.": "目录 / 无法挂载到 Pod。",
    "There is no {file} in {directory}.": "{directory} 中没有 {file}。",
    "the programs there: {files}": "其中的程序：{files}",
    "There is no cluster yet. Start one on this machine with {command}?": "还没有集群。用 {command} 在本机启动一个？",
    "Starting the embedded cluster …": "正在启动内嵌集群……",
    "The cluster runs; stop it with: {command}": "集群已运行；停止：{command}",
    "Detach from {job}, or stop it? d: detach, s: stop, Enter: go on following": (
        "脱离 {job}，还是停止它？d：脱离，s：停止，回车：继续跟踪"
    ),
    "Detached from job {name}, which goes on.": "已脱离任务 {name}，任务继续运行。",
    "Job {name} is stopped and deleted.": "任务 {name} 已停止并删除。",
    "Stop it: {command}": "停止任务：{command}",
}
