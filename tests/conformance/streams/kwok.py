# SPDX-License-Identifier: Apache-2.0
"""KWOK as the kubelet of a node: logs, exec, attach, port-forward and metrics come from a program that is not ours."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import yaml
from tests.conformance.streams.kubectl import tool

from springtide.local.access import pki
from springtide.local.cluster import Cluster

NODE = "kwok-0"
METRICS = f"/metrics/nodes/{NODE}/metrics/resource"
LINES = [b"first line\n", b"second line\n"]

_NODE_READY = """\
conditions:
- {type: Ready, status: "True", reason: KubeletReady, lastTransitionTime: {{ Now | Quote }}}
addresses:
- {type: InternalIP, address: {{ NodeIP | Quote }}}
daemonEndpoints: {kubeletEndpoint: {Port: {{ NodePort }}}}
"""
_POD_RUNNING = """\
phase: Running
podIP: 10.0.0.7
podIPs: [{ip: 10.0.0.7}]
startTime: {{ Now | Quote }}
conditions:
- {type: Ready, status: "True", lastTransitionTime: {{ Now | Quote }}}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: true
  restartCount: 0
  state: {running: {startedAt: {{ Now | Quote }}}}
{{ end }}
"""


def _document(kind: str, name: str, **spec: object) -> dict[str, object]:
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _stage(name: str, kind: str, when: list[tuple[str, str, list[str]]], then: dict[str, object]) -> dict[str, object]:
    matching = [{"key": key, "operator": word} | ({"values": values} if values else {}) for key, word, values in when]
    resource = {"apiGroup": "v1", "kind": kind}
    return _document("Stage", name, resourceRef=resource, selector={"matchExpressions": matching}, next=then)


def _metric(name: str, kind: str, dimension: str, value: str) -> dict[str, object]:
    owner = {"container": "container.name", "pod": "pod.metadata.name", "namespace": "pod.metadata.namespace"}
    labels = [{"name": label, "value": source} for label, source in owner.items()] if dimension == "container" else []
    return {"name": name, "help": name, "kind": kind, "dimension": dimension, "labels": labels, "value": value}


def configuration(directory: Path, port: int) -> str:
    """Every container uses two tenths of a core and 32 MiB; every forwarded port leads to `port` of this machine."""
    ready = '.status.conditions.[] | select( .type == "Ready" ) | .status'
    usage = {"cpu": {"value": "200m"}, "memory": {"value": "32Mi"}}
    documents = [
        _stage("node-ready", "Node", [(ready, "NotIn", ["True"])], {"statusTemplate": _NODE_READY}),
        _stage(
            "pod-running",
            "Pod",
            [(".status.phase", "In", ["Pending"]), (".metadata.deletionTimestamp", "DoesNotExist", [])],
            {"statusTemplate": _POD_RUNNING},
        ),
        _stage("pod-gone", "Pod", [(".metadata.deletionTimestamp", "Exists", [])], {"delete": True}),
        _document("ClusterExec", "all", execs=[{"local": {}}]),
        _document("ClusterLogs", "all", logs=[{"logsFile": str(directory / "log"), "follow": False}]),
        _document("ClusterAttach", "all", attaches=[{"logsFile": str(directory / "terminal")}]),
        _document("ClusterPortForward", "all", forwards=[{"target": {"address": "127.0.0.1", "port": port}}]),
        _document("ClusterResourceUsage", "all", usages=[{"usage": usage}]),
        _document(
            "Metric",
            "resource",
            path="/metrics/nodes/{nodeName}/metrics/resource",
            metrics=[
                _metric("node_cpu_usage_seconds_total", "counter", "node", 'node.CumulativeUsage("cpu")'),
                _metric("node_memory_working_set_bytes", "gauge", "node", 'node.Usage("memory")'),
                _metric(
                    "container_cpu_usage_seconds_total",
                    "counter",
                    "container",
                    'pod.CumulativeUsage("cpu", container.name)',
                ),
                _metric(
                    "container_memory_working_set_bytes", "gauge", "container", 'pod.Usage("memory", container.name)'
                ),
            ],
        ),
    ]
    return yaml.safe_dump_all(documents)


def logged(line: bytes) -> bytes:
    """As a container runtime writes it to its file."""
    return b"2026-01-01T00:00:00.000000000Z stdout F " + line


@asynccontextmanager
async def kwok(cluster: Cluster, directory: Path, forwards_to: int) -> AsyncIterator[None]:
    """Plays all nodes until the block ends. `directory` has its `output`, and what containers say to those attached."""
    authority = pki.Authority(cluster.directory.pki, datetime.now(UTC))
    pair = pki.node_pair(authority, NODE, ["127.0.0.1"])
    files = {"tls.crt": pair.certificate, "tls.key": pair.key, "terminal": b""}
    files["log"] = b"".join(map(logged, LINES))
    files["config.yaml"] = configuration(directory, forwards_to).encode()
    for name, content in files.items():
        (directory / name).write_bytes(content)
    port = _free_port()
    words = {
        "kubeconfig": cluster.directory.kubeconfig,
        "config": directory / "config.yaml",
        "node-ip": "127.0.0.1",
        "node-port": port,
        "server-address": f"127.0.0.1:{port}",
        "tls-cert-file": directory / "tls.crt",
        "tls-private-key-file": directory / "tls.key",
    }
    switches = [f"--{name}={value}" for name, value in words.items()]
    with (directory / "output").open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            tool("kwok"), "--manage-all-nodes", *switches, stdout=output, stderr=output
        )
        try:
            yield
        finally:
            if process.returncode is None:
                process.terminate()
            await asyncio.wait_for(process.wait(), 10)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
