# SPDX-License-Identifier: Apache-2.0
"""Wrong values of the flags of `submit`."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "{flag} is not valid": "{flag} 无效",
    "it has bytes that are not UTF-8": "其中有不是 UTF-8 的字节",
    "write it in UTF-8, which is what containers are given": "请用 UTF-8 书写，容器得到的就是 UTF-8",
    "the command line is not valid": "命令行无效",
    "it is missing": "缺少该参数",
    "add {flag}": "请加上 {flag}",
    "{value} does not have the form {form}": "{value} 不符合格式 {form}",
    "write it as {example}": "请写成 {example}",
    "{value} is none of its values": "{value} 不是可用的取值",
    "choose one of: {choices}": "请选择其中之一：{choices}",
    "{value} is less than {limit}": "{value} 小于 {limit}",
    "choose at least {limit}": "请至少取 {limit}",
    "{value} is more than {limit}": "{value} 大于 {limit}",
    "choose at most {limit}": "请至多取 {limit}",
    "the claim {name} is mounted twice": "PVC {name} 挂载了两次",
    "mount it once, at a directory above both paths": "请只挂载一次，挂载到两个路径共同的上级目录",
    "{value} is no name of a claim": "{value} 不是 PVC 的名称",
    "see the claims: {command}": "查看已有的 PVC：{command}",
    "the path {value} is not absolute": "路径 {value} 不是绝对路径",
    "the path / is the container itself": "路径 / 是容器本身的根目录",
    "with the operator Exists a toleration has no value": "operator 为 Exists 时，toleration 不能有值",
    "{value} is no name of a resource": "{value} 不是资源的名称",
    "{resource} has a flag of its own": "{resource} 有专门的参数",
    "{name} has {length} characters": "{name} 有 {length} 个字符",
    "choose a name of at most {limit} characters": "请使用不超过 {limit} 个字符的名称",
    "{name} cannot be part of the names of pods": "{name} 不能用作 Pod 名称的一部分",
    "use lower-case letters, digits and '-', with a letter first and a letter or digit last": (
        "请使用小写字母、数字和“-”，以字母开头，以字母或数字结尾"
    ),
    "the label {name} is written by submit": "标签 {name} 由 submit 写入",
    "choose another name": "请换一个名称",
    "{value} cannot be the value of a label": "{value} 不能作为标签的值",
    "use at most {limit} letters, digits, '-', '_' and '.'": "请使用不超过 {limit} 个字母、数字、“-”、“_”和“.”",
    "two volumes are mounted at {path}": "有两个卷挂载在 {path}",
    "--spot-instance changes nothing: workers may run on nodes that can be taken away without it, too": (
        "--spot-instance 不起作用：没有该参数，worker 也可以运行在可能被回收的节点上"
    ),
    "give each a path of its own": "请为每个卷指定不同的路径",
    (
        "--gang has no effect on the embedded cluster, whose scheduler reads PodGroups: "
        "start the cluster with tide up --no-operator, and tide operator --gang-scheduling default-scheduler"
    ): (
        "--gang 在内嵌集群上不起作用，其调度器读取的是 PodGroup：请用 tide up --no-operator 启动集群，"
        "并运行 tide operator --gang-scheduling default-scheduler"
    ),
    (
        "--gputopology does not place workers by the connections of GPUs on the embedded cluster: "
        "its scheduler does not know them, and its nodes need the resource aliyun.com/gpu"
    ): (
        "--gputopology 在内嵌集群上不会按 GPU 的连接方式放置 worker：其调度器不了解这些连接，"
        "而且节点需要有资源 aliyun.com/gpu"
    ),
    "--starting-timeout has no effect: TFJobs of today's operators have no such deadline": (
        "--starting-timeout 不起作用：现在的 operator 的 TFJob 没有这个期限"
    ),
    "--role-sequence has no effect here: all roles are created at once, and wait for each other": (
        "--role-sequence 在这里不起作用：所有角色同时创建，并互相等待"
    ),
    "--worker-affinity-policy has no effect without --ps": "没有 --ps 时，--worker-affinity-policy 不起作用",
}
