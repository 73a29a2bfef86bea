# SPDX-License-Identifier: Apache-2.0
"""Checks of a cluster."""

from __future__ import annotations

from typing import Final

TRANSLATIONS: Final = {
    "{server} answers; it is Kubernetes {version}": "{server} 有应答，是 Kubernetes {version}",
    "Springtide follows {followed}; use a release of it that is nearer to the cluster's version": (
        "Springtide 遵循 {followed}；请使用与集群版本更接近的发行版"
    ),
    "it is not known which CRDs are installed: you may not read them": "不知道安装了哪些 CRD：您无权读取",
    "ask whoever runs the cluster for this right: {rights}": "请向集群管理员申请此权限：{rights}",
    "CRDs are missing: {names}": "缺少 CRD：{names}",
    "install them: {command}": "安装：{command}",
    "CRDs are of another project or release: {names}": "CRD 属于其他项目或发行版：{names}",
    "upgrade them: {command}": "升级：{command}",
    "all {count} CRDs are installed": "{count} 个 CRD 均已安装",
    "it is not known whether an operator runs: you may read neither leases nor pods of all namespaces": (
        "不知道 operator 是否在运行：您无权读取所有命名空间的 lease 和 pod"
    ),
    "an operator runs ({where})": "operator 在运行（{where}）",
    "no operator runs, so that no job starts ({where})": "没有 operator 在运行，任务不会启动（{where}）",
    "start it, or see why it does not run: {command}": "启动它，或查看它为何没有运行：{command}",
    "you may not do all that tide does in namespace {namespace}": "您无权在命名空间 {namespace} 执行 tide 的全部操作",
    "ask whoever runs the cluster for these rights: {rights}": "请向集群管理员申请这些权限：{rights}",
    "you may do all that tide does in namespace {namespace}": "您有权在命名空间 {namespace} 执行 tide 的全部操作",
    "add one: {command}": "添加一个：{command}",
    "the cluster has no nodes, or you may not read them": "集群没有节点，或您无权读取",
    "{count} of {total} nodes are not ready: {names}": "{total} 个节点中有 {count} 个未就绪：{names}",
    "see why: {command}": "查看原因：{command}",
    "the node is ready": "节点已就绪",
    "all {count} nodes are ready": "{count} 个节点均已就绪",
    "{count} GPUs on {nodes} nodes": "{nodes} 个节点上有 {count} 个 GPU",
    "install the device plugin of your GPUs, if the nodes have any": "若节点有 GPU，请安装其设备插件",
    "to try jobs that ask for GPUs: {command}": "要试用申请 GPU 的任务：{command}",
    "no node offers {resource}": "没有节点提供 {resource}",
    "volume claims get storage class {name} by default": "存储卷声明默认使用存储类 {name}",
    "name a storage class in each volume claim: {command}": "请在每个存储卷声明中写明存储类：{command}",
    "no storage class is the default one": "没有默认的存储类",
    "install metrics-server; without it tide top shows requests, but no usage": (
        "请安装 metrics-server；没有它，tide top 只显示申请量，不显示用量"
    ),
    "the cluster measures no usage of pods and nodes": "集群不测量 pod 和节点的用量",
    "the cluster measures the usage of pods and nodes": "集群测量 pod 和节点的用量",
}
