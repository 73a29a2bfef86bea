# SPDX-License-Identifier: Apache-2.0
"""Help of `tide doctor`, `env`, `example`, `completion` and `version`."""

from __future__ import annotations

from typing import Final

HELP: Final = {
    # doctor
    "Check this machine, with a fix for everything that is missing.": "检查本机，并对缺少的每一项给出修复方法。",
    "✓ passed, ! limits what pods can do, ✗ prevents the cluster from working. Exits with 1 if there is a ✗.": (
        "✓ 通过，! 限制 Pod 的能力，✗ 使集群无法工作。若有 ✗，退出码为 1。"
    ),
    "Check a cluster: its CRDs, its operator, your rights.": "检查集群：其 CRD、operator 和您的权限。",
    "With --cluster: its kubeconfig file.": "与 --cluster 同用：其 kubeconfig 文件。",
    "With --cluster: its context in the kubeconfig.": "与 --cluster 同用：kubeconfig 中的上下文。",
    "With --cluster: where you have jobs.": "与 --cluster 同用：您的任务所在的命名空间。",
    # env
    "Make, list and delete environments: what images stand for on the embedded cluster.": (
        "创建、列出和删除环境：镜像在内嵌集群上所对应的内容。"
    ),
    (
        "Nothing is pulled there. A pod's image name finds an environment, and images that fit none run in the"
        " environment that runs tide."
    ): "内嵌集群不拉取镜像。按 Pod 的镜像名称查找环境，没有对应环境的镜像在运行 tide 的环境中运行。",
    "Make the environment NAME, or one of a preset.": "创建环境 NAME，或由预设创建环境。",
    "Begin with what a preset has; see `tide env presets`.": "以预设的内容为基础；参见 `tide env presets`。",
    "The same with the preset that stands in for an image.": "同上，使用对应某个镜像的预设。",
    "Packages to install, as pip writes them.": "要安装的包，写法与 pip 相同。",
    "Install what a requirements file lists.": "安装 requirements 文件列出的包。",
    "Such as 3.12.  [default: the one that runs tide]": "如 3.12。  [默认：运行 tide 的 Python]",
    "Images it is for: 'horovod/horovod:*'.": "对应的镜像：'horovod/horovod:*'。",
    "Show a directory of this machine at a path in every pod of the environment.": (
        "在该环境的每个 Pod 中，将本机目录显示在某个路径下。"
    ),
    "Where its containers start.  [default: /]": "其容器启动时的目录。  [默认：/]",
    "What containers without `command` run, before their `args`: 'python train.py', or a JSON list.": (
        "没有 `command` 的容器运行的命令，位于其 `args` 之前：'python train.py'，或 JSON 列表。"
    ),
    "What follows the entrypoint in containers without `command` and `args`; written alike.": (
        "没有 `command` 和 `args` 的容器中 entrypoint 之后的内容；写法相同。"
    ),
    "A variable of its containers.": "其容器的环境变量。",
    "Make it anew; pods that run in the old one are not disturbed.": "重新创建；在旧环境中运行的 Pod 不受影响。",
    "List the presets: environments for well-known images that can be made without a description.": (
        "列出预设：对应常见镜像、无需描述即可创建的环境。"
    ),
    "List environments and the images they are for.": "列出环境及其对应的镜像。",
    "Show one environment: where it is, what is in it, and which images it is for.": (
        "显示一个环境：其位置、内容和对应的镜像。"
    ),
    "Delete the environment NAME; its images run in the next one that fits, or in tide's own.": (
        "删除环境 NAME；其镜像将在下一个对应的环境中运行，或在 tide 自己的环境中运行。"
    ),
    # example, completion, version
    "Print the manifest of a job to try out, or list the jobs there are.": "打印可供试用的任务清单，或列出有哪些任务。",
    "It needs nothing but the embedded cluster: no image, no package, no file of a checkout.": (
        "只需要内嵌集群：不需要镜像、软件包或源码文件。"
    ),
    "Start one: tide example mpijob | kubectl apply -f -": "启动一个：tide example mpijob | kubectl apply -f -",
    "Which one; without it they are listed.": "哪一个；不写则列出全部。",
    "Print the script that lets a shell complete tide by TAB.": "打印使 shell 能用 TAB 补全 tide 的脚本。",
    "Commands, options and the names of clusters, nodes and environments are completed.": (
        "可补全命令、选项以及集群、节点和环境的名称。"
    ),
    'For this shell alone: eval "$(tide completion bash)"  (or zsh)': (
        '仅用于当前 shell：eval "$(tide completion bash)"  （或 zsh）'
    ),
    "For good:": "永久生效：",
    "Which shell; the one in $SHELL otherwise.": "哪种 shell；不写则为 $SHELL 中的。",
    "Print the version, and the Kubernetes version it follows.": "打印版本及其遵循的 Kubernetes 版本。",
}
