# SPDX-License-Identifier: Apache-2.0
"""What pods use, in the kubelet's words and in numbers that the embedded metrics server understands."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any

from springtide.local.apiserver.nodes import resource_metrics
from springtide.local.kubelet.node.metrics import Counter, Reading, ResourceMetrics, Usage, render
from springtide.local.pod_logs.reading import Options
from springtide.local.runtime.contract import ContainerState
from springtide.local.runtime.shim_client import ShimError

NOW = 1_800_000_000.5


def usage(container: str = "main", cpu: float = 1.5, memory: float = 4096, uid: str = "u") -> Usage:
    return Usage("ns", "pod", uid, container, 1_700_000_000.25, cpu, memory)


TEXT = """\
# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="a",namespace="ns",pod="pod"} 1.5 1800000000500
container_cpu_usage_seconds_total{container="b",namespace="ns",pod="pod"} 2.0 1800000000500
# HELP container_memory_working_set_bytes [STABLE] Current working set of the container in bytes
# TYPE container_memory_working_set_bytes gauge
container_memory_working_set_bytes{container="a",namespace="ns",pod="pod"} 4096 1800000000500
container_memory_working_set_bytes{container="b",namespace="ns",pod="pod"} 1000 1800000000500
# HELP container_start_time_seconds [STABLE] Start time of the container since unix epoch in seconds
# TYPE container_start_time_seconds gauge
container_start_time_seconds{container="a",namespace="ns",pod="pod"} 1700000000.25
container_start_time_seconds{container="b",namespace="ns",pod="pod"} 1700000000.25
# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total 7.5 1800000000500
# HELP node_memory_working_set_bytes [STABLE] Current working set of the node in bytes
# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes 5096 1800000000500
# HELP pod_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the pod in core-seconds
# TYPE pod_cpu_usage_seconds_total counter
pod_cpu_usage_seconds_total{namespace="ns",pod="pod"} 3.5 1800000000500
# HELP pod_memory_working_set_bytes [STABLE] Current working set of the pod in bytes
# TYPE pod_memory_working_set_bytes gauge
pod_memory_working_set_bytes{namespace="ns",pod="pod"} 5096.0 1800000000500
# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise
# TYPE resource_scrape_error gauge
resource_scrape_error 0
# HELP scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise
# TYPE scrape_error gauge
scrape_error 0
"""


def test_the_text_is_that_of_a_kubelet() -> None:
    assert render(Reading(NOW, [usage("a"), usage("b", 2.0, 1000)], 7.5)) == TEXT


def test_the_metrics_server_understands_it() -> None:
    read = resource_metrics.parse(render(Reading(NOW, [usage("a")], 7.5)), 0.0)
    assert read["ns", "pod", "a"] == resource_metrics.Usage(1.5, 4096, NOW, usage("a").started)
    assert read["", "", ""] == resource_metrics.Usage(7.5, 4096, NOW)


def test_a_node_without_pods_still_has_numbers() -> None:
    text = render(Reading(NOW, [], 0.0, failed=True))
    assert "container_" not in text
    assert "node_memory_working_set_bytes 0 1800000000500" in text
    assert "\nscrape_error 1\n" in text


def test_processor_time_never_falls() -> None:
    counter = Counter()
    counter.add([usage(cpu=10.0), usage(cpu=5.0, uid="other")], {"u", "other"})
    counter.add([usage(cpu=12.0)], {"u"})  # the other pod is gone
    assert counter.total == 17.0
    counter.add([], {"u"})  # its shim did not answer
    counter.add([usage(cpu=13.0)], {"u"})
    assert counter.total == 18.0
    counter.add([usage(cpu=1.0)], {"u"})  # the container was started anew
    assert counter.total == 19.0


class Shim:
    def __init__(self, used: dict[str, dict[str, float]] | None) -> None:
        self.used, self.asked = used, 0

    async def usage(self) -> dict[str, dict[str, float]]:
        self.asked += 1
        if self.used is None:
            raise ShimError("Gone", "the shim is gone")
        return self.used


@dataclass
class Pod:
    shim: Any
    obj: dict[str, Any] = field(default_factory=lambda: {"metadata": {"name": "pod", "namespace": "ns", "uid": "u"}})
    states: dict[str, ContainerState] = field(default_factory=lambda: {"main": ContainerState("main", 0, "running")})
    status: dict[str, Any] = field(default_factory=dict)
    address: str = ""
    is_mirror: bool = False

    def log_text(
        self, container: str, attempt: int, options: Options, running: Callable[[], bool]
    ) -> AsyncGenerator[bytes, None]:
        raise NotImplementedError


class Pods:
    def __init__(self, *pods: Pod) -> None:
        self._pods = pods

    def find(self, namespace: str, name: str, uid: str = "") -> Pod | None:
        return None

    def all(self) -> tuple[Pod, ...]:
        return self._pods


async def test_shims_are_asked_once_a_second_at_most() -> None:
    now, shim = [NOW], Shim({"main": {"cpu": 1.0, "memory": 2.0}, "strange": {"cpu": 1.0, "memory": 2.0}})
    metrics = ResourceMetrics(Pods(Pod(shim), Pod(None)), lambda: now[0])
    first = await metrics.text()
    assert 'container="main"' in first
    assert "strange" not in first
    now[0] += 0.9
    assert await metrics.text() == first
    assert shim.asked == 1
    now[0] += 0.2
    assert await metrics.text() != first
    assert shim.asked == 2


async def test_a_shim_that_does_not_answer_spoils_nothing_for_the_others() -> None:
    metrics = ResourceMetrics(Pods(Pod(Shim(None)), Pod(Shim({"main": {"cpu": 1.0, "memory": 2.0}}))), lambda: NOW)
    text = await metrics.text()
    assert 'container_cpu_usage_seconds_total{container="main",namespace="ns",pod="pod"} 1.0' in text
    assert "\nscrape_error 1\n" in text


async def test_the_process_of_a_mirror_pod_is_usage_of_its_pod_and_not_of_the_node() -> None:
    used = {"main": {"cpu": 1.0, "memory": 2.0}}
    mirror = Pod(Shim(used), {"metadata": {"name": "mirror", "namespace": "ns", "uid": "m"}}, is_mirror=True)
    text = await ResourceMetrics(Pods(Pod(Shim(used)), mirror), lambda: NOW).text()
    assert 'pod_cpu_usage_seconds_total{namespace="ns",pod="mirror"} 1.0' in text
    assert "\nnode_cpu_usage_seconds_total 1.0 " in text
    assert "\nnode_memory_working_set_bytes 2.0 " in text
