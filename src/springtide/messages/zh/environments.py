# SPDX-License-Identifier: Apache-2.0
"""`tide env` and presets."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    # Wrong options of `tide env create`
    "it is empty, perhaps because of a variable that is not set": "值为空，可能是因为某个变量没有设置",
    "{value!r}: write DIR:/absolute/path": "{value!r}：请写成 DIR:/绝对路径",
    "{value!r}: {why}": "{value!r}：{why}",
    "{value!r}: a list holds strings alone": "{value!r}：列表中只能有字符串",
    "unexpected: {words}\nTo install packages: --pip {words}": "多余的参数：{words}\n要安装包：--pip {words}",
    "{word} stands for what your program needs: write, for example, {example}": (
        "{word} 代表您的程序所需的内容：请写成例如 {example}"
    ),
    "name the environment, or choose a preset: --preset PRESET, --for IMAGE": (
        "请给出环境名称，或选择预设：--preset PRESET、--for IMAGE"
    ),
    "--preset and --for contradict each other: --for finds the preset of an image": (
        "--preset 与 --for 不能同时使用：--for 会查找镜像对应的预设"
    ),
    # Making
    "Image {image} runs in environment {name!r} already": "镜像 {image} 已在环境 {name!r} 中运行",
    "Environment {name!r} of this preset exists already; to make it anew: {command}": (
        "此预设的环境 {name!r} 已存在；重新创建：{command}"
    ),
    "Making environment {name!r}: {description}": "正在创建环境 {name!r}：{description}",
    "  images:    {images}": "  镜像：    {images}",
    "  packages:  {packages}": "  软件包：  {packages}",
    "  takes:     {cost}": "  开销：    {cost}",
    "  stand-ins: {programs}": "  替代程序：{programs}",
    "{cost}, and what {more} takes": "{cost}，另加 {more} 的开销",
    "{packages}, about {size} MB to fetch, {time}": "{packages}，约下载 {size} MB，{time}",
    "{count} package": "{count} 个包",
    "{count} packages": "{count} 个包",
    "less than a minute": "不到一分钟",
    "{minutes} minute or so": "约 {minutes} 分钟",
    "{minutes} minutes or so": "约 {minutes} 分钟",
    "Environment {name!r} is ready: Python {python} in {path}": "环境 {name!r} 已就绪：Python {python}，位于 {path}",
    "No image uses it yet; say which: {command}": "还没有镜像使用它；请指定镜像：{command}",
    "Pods that wait for it start by themselves; next: {command}": "等待它的 Pod 会自动启动；下一步：{command}",
    "It shares the packages of the environment that runs tide; --pip gives it its own.": (
        "它与运行 tide 的环境共享软件包；用 --pip 可使其拥有自己的包。"
    ),
    "Next: create a pod or job with an image that fits {image}": "下一步：用符合 {image} 的镜像创建 Pod 或任务",
    # What is refused
    "there is no preset {name!r}\nThere are: {names}": "没有预设 {name!r}\n现有：{names}",
    "image {image!r} needs no environment\nIt is an image of {name}, whose pods do nothing here: {facts}": (
        "镜像 {image!r} 不需要环境\n它是 {name} 的镜像，其 Pod 在此不做任何事：{facts}"
    ),
    (
        "image {image!r} needs no environment\n"
        "A stand-in for it is built in: pods of this image fetch code with the git of this machine"
    ): "镜像 {image!r} 不需要环境\n已内置其替代：此镜像的 Pod 用本机的 git 获取代码",
    (
        "no preset stands in for image {image!r}; there are presets for {known}\n"
        "Make an environment of your own: {command}"
    ): "镜像 {image!r} 没有对应的预设；有预设的镜像：{known}\n请自行创建环境：{command}",
    "environment {name!r} was not made from the preset of that name\nMake it anew: {command}": (
        "环境 {name!r} 不是由同名预设创建的\n重新创建：{command}"
    ),
    "there is no environment {name!r}\nThere are: {names}": "没有环境 {name!r}\n现有：{names}",
    "another tide is making {name!r} right now": "另一个 tide 正在创建 {name!r}",
    # What cannot be made
    "{path} is a symbolic link, and tide changes nothing behind it\nRemove the link: {command}": (
        "{path} 是符号链接，tide 不更改链接所指的内容\n请删除链接：{command}"
    ),
    "another tide is making {name!r} right now\nTry again when it is done.": (
        "另一个 tide 正在创建 {name!r}\n请在其完成后重试。"
    ),
    "there is an environment {name!r} already\nMake it anew: {making}\nSee it: {showing}": (
        "环境 {name!r} 已存在\n重新创建：{making}\n查看：{showing}"
    ),
    "{name} cannot be a name\nUse small letters, digits, dots and dashes, 63 at most, and not {own!r}.": (
        "{name} 不能用作名称\n请使用小写字母、数字、点和短横线，最多 63 个字符，且不能是 {own!r}。"
    ),
    "{pattern} cannot be a pattern of images\nUse at most {most} printable characters without spaces.": (
        "{pattern} 不能用作镜像模式\n请使用最多 {most} 个可打印字符，不含空格。"
    ),
    "{path!r} must be an absolute path inside the pod, and not / itself": (
        "{path!r} 必须是 Pod 内的绝对路径，且不能是 / 本身"
    ),
    "{path} is not a directory": "{path} 不是目录",
    "{path} is not there": "{path} 不存在",
    "preset {name!r} needs Python 3.11 or newer, not {version}": (
        "预设 {name!r} 需要 Python 3.11 或更新版本，而不是 {version}"
    ),
    (
        "preset {name!r} needs Python {newest} or older, not {version}: for newer ones "
        "some of its packages have no wheels\nChoose another that this machine has: {option}"
    ): (
        "预设 {name!r} 需要 Python {newest} 或更旧版本，而不是 {version}：其部分软件包没有更新版本的 wheel\n"
        "请选择本机上的其他版本：{option}"
    ),
    (
        "{library} of preset {name!r} does not load here, it lacks {lacking}\n"
        "Install all that it requires, which is much more to fetch: {command}"
    ): "预设 {name!r} 的 {library} 无法在此加载，缺少 {lacking}\n请安装其全部依赖，下载量会大得多：{command}",
    (
        "{path} has Python {version}, and tiderun needs 3.11 or newer\n"
        "Make it anew with a newer Python, or choose another environment: {option}"
    ): (
        "{path} 中是 Python {version}，而 tiderun 需要 3.11 或更新版本\n"
        "请用更新的 Python 重新创建，或选择其他环境：{option}"
    ),
    "the Python in {path} does not work: {why}": "{path} 中的 Python 无法工作：{why}",
    "the Python in {path} does not start: {why}": "{path} 中的 Python 无法启动：{why}",
    "the environment {path} cannot be read: {why}": "无法读取环境 {path}：{why}",
    "there is no {name} on this machine\nInstall it, or install uv, which finds and fetches it.": (
        "本机没有 {name}\n请安装它，或安装 uv，由 uv 查找并下载。"
    ),
    "cannot {purpose}: {program} ended with status {status}, see above": (
        "无法{purpose}：{program} 以退出码 {status} 结束，详见上文"
    ),
    "make {path}": "创建 {path}",
    "install {packages}": "安装 {packages}",
    "compile {files}": "编译 {files}",
    (
        "Where the package index cannot be reached: connect this machine to it, or set "
        "{index} to a mirror, or {links} to a directory of wheels."
    ): "若无法访问软件包索引：请将本机联网，或将 {index} 设为镜像站，或将 {links} 设为存放 wheel 的目录。",
    # Listing, showing, deleting
    "made": "已创建",
    "{name}  ({state})\n  {description}\n  images: {images}": "{name}  （{state}）\n  {description}\n  镜像：{images}",
    "\nMake one: {by_name}, or for an image: {by_image}": "\n创建环境：{by_name}，或按镜像：{by_image}",
    "\nPresets that can be made: {names}; see them: {command}": "\n可创建的预设：{names}；查看：{command}",
    "all others": "其他所有镜像",
    "those of tide itself": "tide 自己的软件包",
    "{source} at {target}": "{source} 显示为 {target}",
    "{source} at {target}  (not there)": "{source} 显示为 {target}  （不存在）",
    "Deleted environment {name!r}.": "环境 {name!r} 已删除。",
    "Pods still run in it; its files go when the next environment of that name is made or deleted.": (
        "仍有 Pod 在其中运行；下次创建或删除同名环境时清除其文件。"
    ),
}
