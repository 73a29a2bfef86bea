# SPDX-License-Identifier: Apache-2.0
"""The cluster of a command, and its errors."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "error: {message}": "错误：{message}",
    "cause: {message}": "原因：{message}",
    "hint: {message}": "提示：{message}",
    "There is no cluster to use.": "没有可用的集群。",
    "{number} embedded clusters run; choose one with: {command}": (
        "有 {number} 个内嵌集群正在运行；请选择一个：{command}"
    ),
    "start one on this machine with: {command}, or name another's kubeconfig with --kubeconfig FILE": (
        "在本机启动一个：{command}，或用 --kubeconfig FILE 指定其他集群的 kubeconfig"
    ),
    "The cluster's certificate, or yours, was not accepted.": "集群的证书或您的证书未被接受。",
    "the kubeconfig may be of another cluster, or its certificate may have expired": (
        "kubeconfig 可能属于另一个集群，或其证书已过期"
    ),
    "is it running? Try: {command}": "集群在运行吗？请试：{command}",
    "The cluster does not answer.": "集群没有应答。",
    "The cluster has not answered in time.": "集群没有及时应答。",
    "is it overloaded? Wait longer with: {setting}": "集群是否过载？可以等待更久：{setting}",
    "{variable}={value} is no number of seconds.": "{variable}={value} 不是有效的秒数。",
    "write one, such as {example}": "请写成秒数，例如 {example}",
    "What answers is no cluster.": "应答的不是集群。",
    "is the address that of a cluster, and not of a login page or a proxy? Try: {command}": (
        "该地址确实是集群的地址，而不是登录页面或代理吗？请试：{command}"
    ),
    "the credentials in the kubeconfig are missing, wrong or expired; get new ones": (
        "kubeconfig 中的凭据缺失、错误或已过期；请获取新的凭据"
    ),
    "Your certificate for this cluster has expired.": "您访问此集群的证书已过期。",
    "it was valid until {time}": "其有效期至 {time}",
    "The cluster does not know you.": "集群不认识您的身份。",
    "ask the cluster's administrator for this right": "请向集群管理员申请此权限",
    "You may not do this.": "您没有执行此操作的权限。",
    "The cluster rejects the request.": "集群拒绝了该请求。",
    "{cause}": "{cause}",
}
