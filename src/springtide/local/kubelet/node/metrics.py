# SPDX-License-Identifier: Apache-2.0
"""Resource usage of this node's pods in the format of kubelet's `/metrics/resource`, for `kubectl top` and autoscalers.

Shims report the processor time and the working set of their containers. The node's own numbers are the sums: several
nodes share a machine here, and each reports only its own pods, without the processes that mirror pods represent.
Processor time is a counter and must not fall when a pod is removed, so its increments are summed up.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from springtide.local.kubelet.serving.hosting import HostedPod, Hosting, PodShim
from springtide.local.kubelet.specs import pod_specs
from springtide.local.runtime.shim_client import ShimError

FRESH: Final = 1.0  # seconds for which an answer is reused


class Usage(NamedTuple):
    """The usage of one container at one moment."""

    namespace: str
    pod: str
    uid: str
    container: str
    started: float
    cpu: float
    """Seconds of processor time since the container started."""
    memory: float
    """Bytes of its working set."""
    is_mirror: bool = False
    """Whether its process runs outside of pods and does not count as usage of the node."""


@dataclass(frozen=True, slots=True)
class Reading:
    at: float
    usages: Sequence[Usage]
    node_cpu: float
    failed: bool = False


class Counter:
    """Processor seconds of all containers together, including those that are gone."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], float] = {}
        self.total = 0.0

    def add(self, usages: Iterable[Usage], here: Collection[str]) -> None:
        """`here` are the uids of all pods of the node: one that did not answer keeps its last value."""
        now = {(usage.uid, usage.container): usage.cpu for usage in usages}
        for key, cpu in now.items():
            before = self._seen.get(key, 0.0)
            self.total += cpu - before if cpu >= before else cpu  # less than before: the container was restarted
        self._seen = {key: cpu for key, cpu in self._seen.items() if key[0] in here} | now


class ResourceMetrics:
    def __init__(self, pods: Hosting, clock: Callable[[], float] = time.time) -> None:
        self._pods, self._clock = pods, clock
        self._counter = Counter()
        self._last: Reading | None = None
        self._one_at_a_time = asyncio.Lock()

    async def text(self) -> str:
        async with self._one_at_a_time:
            if self._last is None or not 0 <= self._clock() - self._last.at < FRESH:
                self._last = await self._read()
            return render(self._last)

    async def _read(self) -> Reading:
        pods = self._pods.all()
        answers = await asyncio.gather(*(_of_pod(pod, pod.shim) for pod in pods if pod.shim is not None))
        usages = [usage for answer in answers for usage in answer or ()]
        own = [usage for usage in usages if not usage.is_mirror]
        self._counter.add(own, {pod_specs.uid_of(pod.obj) for pod in pods})
        return Reading(self._clock(), usages, self._counter.total, any(answer is None for answer in answers))


async def _of_pod(pod: HostedPod, shim: PodShim) -> list[Usage] | None:
    """None when the shim does not answer, usually because the pod has ended meanwhile."""
    try:
        used = await shim.usage()
    except ShimError:
        return None
    metadata = pod.obj["metadata"]
    return [
        Usage(
            metadata["namespace"],
            metadata["name"],
            pod_specs.uid_of(pod.obj),
            name,
            pod.states[name].started,
            amounts["cpu"],
            amounts["memory"],
            pod.is_mirror,
        )
        for name, amounts in used.items()
        if name in pod.states
    ]


# Prometheus' text format


_SCRAPE_ERROR: Final = "1 if there was an error while getting container metrics, 0 otherwise"
_FAMILIES: Final = {
    "container_cpu_usage_seconds_total": "Cumulative cpu time consumed by the container in core-seconds",
    "container_memory_working_set_bytes": "Current working set of the container in bytes",
    "container_start_time_seconds": "Start time of the container since unix epoch in seconds",
    "node_cpu_usage_seconds_total": "Cumulative cpu time consumed by the node in core-seconds",
    "node_memory_working_set_bytes": "Current working set of the node in bytes",
    "pod_cpu_usage_seconds_total": "Cumulative cpu time consumed by the pod in core-seconds",
    "pod_memory_working_set_bytes": "Current working set of the pod in bytes",
    "resource_scrape_error": _SCRAPE_ERROR,
    "scrape_error": _SCRAPE_ERROR,
}


def render(reading: Reading) -> str:
    """The families in alphabetical order, with kubelet's help texts."""
    stamp = f" {int(reading.at * 1000)}"
    samples: dict[str, list[str]] = {name: [] for name in _FAMILIES}
    for usage in reading.usages:
        labels = _labels(container=usage.container, namespace=usage.namespace, pod=usage.pod)
        samples["container_cpu_usage_seconds_total"].append(f"{labels} {usage.cpu}{stamp}")
        samples["container_memory_working_set_bytes"].append(f"{labels} {usage.memory}{stamp}")
        samples["container_start_time_seconds"].append(f"{labels} {usage.started}")
    for (namespace, pod), (cpu, memory) in _by_pod(reading.usages).items():
        labels = _labels(namespace=namespace, pod=pod)
        samples["pod_cpu_usage_seconds_total"].append(f"{labels} {cpu}{stamp}")
        samples["pod_memory_working_set_bytes"].append(f"{labels} {memory}{stamp}")
    own = sum(usage.memory for usage in reading.usages if not usage.is_mirror)
    samples["node_cpu_usage_seconds_total"].append(f" {reading.node_cpu}{stamp}")
    samples["node_memory_working_set_bytes"].append(f" {own}{stamp}")
    samples["resource_scrape_error"].append(f" {int(reading.failed)}")
    samples["scrape_error"].append(f" {int(reading.failed)}")
    return "".join(_family(name, lines) for name, lines in samples.items() if lines)


def _family(name: str, samples: Sequence[str]) -> str:
    kind = "counter" if name.endswith("_total") else "gauge"
    lines = [
        f"# HELP {name} [STABLE] {_FAMILIES[name]}",
        f"# TYPE {name} {kind}",
        *(name + sample for sample in samples),
    ]
    return "\n".join(lines) + "\n"


def _labels(**values: str) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in values.items()) + "}"


def _by_pod(usages: Iterable[Usage]) -> Mapping[tuple[str, str], tuple[float, float]]:
    sums: dict[tuple[str, str], tuple[float, float]] = {}
    for usage in usages:
        cpu, memory = sums.get((usage.namespace, usage.pod), (0.0, 0.0))
        sums[usage.namespace, usage.pod] = cpu + usage.cpu, memory + usage.memory
    return sums
