# SPDX-License-Identifier: Apache-2.0
"""HorizontalPodAutoscaler: resizes anything with a scale by the usage of its pods.

Every autoscaler is reconciled every 15 seconds, and at once when its spec changes. `autoscaler_plan` decides; this
module fetches the target, its pods and their metrics, and resizes the target.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from springtide.event_loop.slices import Slices, in_slices
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.controller import Controller, Result
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.kube.request import Scope
from springtide.kube.resources import HORIZONTALPODAUTOSCALERS, Key, Obj, Resource
from springtide.local.controller_manager import views
from springtide.local.controller_manager.autoscaling import autoscaler_limits as limits
from springtide.local.controller_manager.autoscaling.autoscaler_plan import (
    Observed,
    Plan,
    after_failed_resize,
    after_resize,
    plan,
    without_target,
)
from springtide.local.controller_manager.autoscaling.scales import NoSuchKind, NotScalable, Scales
from springtide.local.controller_manager.selection.label_postings import selected
from springtide.local.controller_manager.selection.selectors import parse_text
from springtide.local.controller_manager.status_writes import write_status
from springtide.local.controller_manager.timestamps import Clock, utc_now
from springtide.local.controller_manager.views import PodView
from springtide.local.kinds.label_selectors import Selector, SelectorError

COMPONENT = "horizontal-pod-autoscaler"
PERIOD = 15.0
POD_METRICS = Resource("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")
_NOT_FOUND = "the server could not find the requested resource"
_NO_API = f"{_NOT_FOUND} (get pods.metrics.k8s.io)"


@dataclass(slots=True)
class _Known:
    spec: Obj
    memory: limits.Memory = limits.NOTHING
    selector: Selector | None = None


@dataclass(frozen=True, slots=True)
class _Target:
    resource: Resource
    key: Key
    scale: Obj


class Autoscalers:
    def __init__(self, informers: Informers, client: Client, events: EventRecorder, clock: Clock = utc_now) -> None:
        self._client, self._events, self._clock = client, events, clock
        self._pods = views.pods(informers)
        self._autoscalers = informers.of(HORIZONTALPODAUTOSCALERS)
        self._scales = Scales(client)
        self._known: dict[Key, _Known] = {}
        self.controller: Controller[Key] = Controller("autoscalers", self.reconcile, workers=2)
        self.controller.reads(self._autoscalers)
        self.controller.reads(self._pods)
        self._autoscalers.on_change(self._changed)

    def _changed(self, key: Key) -> None:
        """Ignores changes that leave the spec as it is: most are our own status writes."""
        autoscaler = self._autoscalers.get(key)
        known = self._known.get(key)
        if autoscaler is None or known is None or autoscaler["spec"] != known.spec:
            self.controller.enqueue(key)

    async def reconcile(self, key: Key) -> Result | None:
        autoscaler = self._autoscalers.get(key)
        if autoscaler is None:
            self._known.pop(key, None)
            return None
        known = self._known.setdefault(key, _Known(autoscaler["spec"]))
        known.spec = autoscaler["spec"]
        status = await self._look_at(autoscaler, known)
        with suppress(errors.Conflict):  # the next round retries
            await write_status(self._client, HORIZONTALPODAUTOSCALERS, autoscaler, status)
        return Result(requeue_after=PERIOD)

    async def _look_at(self, autoscaler: Obj, known: _Known) -> Obj:
        """Resizes the target if needed, and returns the new status."""
        try:
            target = await self._target(autoscaler)
        except (NoSuchKind, NotScalable, errors.ApiError) as error:
            why = _NOT_FOUND if isinstance(error, NotScalable) else str(error)
            self._events.warning(autoscaler, "FailedGetScale", why)
            return without_target(autoscaler, why, self._clock())
        observed = await self._observe(autoscaler, target.scale, known)
        decided = plan(observed, self._clock())
        for reason, message in decided.events:
            self._events.warning(autoscaler, reason, message)
        if decided.resize is not None:
            decided = await self._resize(target, observed, decided)
        known.memory = decided.memory
        return decided.status

    async def _target(self, autoscaler: Obj) -> _Target:
        reference = autoscaler["spec"]["scaleTargetRef"]
        resource = await self._scales.resource_of(reference.get("apiVersion", ""), reference["kind"])
        key = Key(autoscaler["metadata"]["namespace"], reference["name"])
        return _Target(resource, key, await self._scales.get(resource, key))

    async def _observe(self, autoscaler: Obj, scale: Obj, known: _Known) -> Observed:
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        text = (scale.get("status") or {}).get("selector", "")
        if not text:
            unfit = ("SelectorRequired", "InvalidSelector", "the HPA target's scale is missing a selector")
            return Observed(autoscaler, replicas, unfit, memory=known.memory)
        try:
            known.selector = await parse_text(text)
        except SelectorError as error:
            message = f"couldn't convert selector into a corresponding internal selector object: {error}"
            unfit = ("InvalidSelector", "InvalidSelector", message)
            return Observed(autoscaler, replicas, unfit, memory=known.memory)
        namespace = autoscaler["metadata"]["namespace"]
        candidates = selected(self._pods, views.BY_LABEL, namespace, known.selector)
        pods = [pod async for pod in in_slices(candidates) if known.selector.matches(pod.metadata.labels)]
        rivals = [key async for key in self._rivals(namespace, pods)]
        if len(rivals) > 1:
            names = " ".join(f"{{{key.name} {key.namespace}}}" for key in rivals)
            message = f"pods by selector {text} are controlled by multiple HPAs: [{names}]"
            unfit = ("AmbiguousSelector", "AmbiguousSelector", message)
            return Observed(autoscaler, replicas, unfit, memory=known.memory)
        metrics = await self._metrics(Scope(namespace, text))
        return Observed(autoscaler, replicas, None, tuple(pods), metrics, known.memory)

    async def _rivals(self, namespace: str, pods: Sequence[PodView]) -> AsyncIterator[Key]:
        """All autoscalers that select any of these pods."""
        slices = Slices()
        for key, selector in [(key, known.selector) for key, known in self._known.items()]:
            if key.namespace != namespace or selector is None:
                continue
            for pod in pods:
                await slices.next()
                if selector.matches(pod.metadata.labels):
                    yield key
                    break

    async def _metrics(self, scope: Scope) -> Sequence[Obj] | str:
        try:
            raws, _ = await self._client.list_raw(POD_METRICS, scope)
        except errors.NotFound:
            return _NO_API
        except errors.ApiError as error:
            return error.message
        return [msgspec.json.decode(raw) for raw in raws]

    async def _resize(self, target: _Target, observed: Observed, decided: Plan) -> Plan:
        assert decided.resize is not None
        what = f"New size: {decided.resize}; reason: {decided.reason}"
        try:
            await self._scales.set(target.resource, target.key, decided.resize)
        except errors.ApiError as error:
            self._events.warning(observed.autoscaler, "FailedRescale", f"{what}; error: {error.message}")
            return after_failed_resize(decided, observed, error.message, self._clock())
        self._events.normal(observed.autoscaler, "SuccessfulRescale", what)
        return after_resize(decided, observed, self._clock())


def controller(informers: Informers, client: Client, events: EventRecorder) -> Controller[Key]:
    return Autoscalers(informers, client, events).controller
