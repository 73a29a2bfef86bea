# SPDX-License-Identifier: Apache-2.0
"""Pods of a service and services of a pod, found in the caches of Endpoints and EndpointSlices by index.

`service_targets` decides about the pods found here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from springtide.event_loop.long_work import in_thread
from springtide.kube.cache import Cache
from springtide.kube.informer import Informer, Informers
from springtide.kube.resources import SERVICES, Key, Obj
from springtide.local.controller_manager import views
from springtide.local.controller_manager.network.service_targets import services_for
from springtide.local.controller_manager.selection import label_postings, selector_postings
from springtide.local.controller_manager.views import PodView

T = TypeVar("T")

FEW_PODS: Final = 200
"""Endpoints of at most this many pods are computed on the event loop, in a few milliseconds."""


def services(informers: Informers) -> Informer[Obj]:
    """The cache of services, with the index that `affected` needs."""
    informer = informers.of(SERVICES)
    informer.add_index(selector_postings.INDEX, selector_postings.of_service)
    return informer


def affected(services: Cache[Obj], pod: PodView) -> list[Key]:
    """The services that a change of this pod may affect."""
    return services_for(selector_postings.candidates(services, pod.metadata.namespace, pod.metadata.labels), pod)


def candidates(service: Obj, pods: Cache[PodView]) -> list[PodView]:
    """The pods that the service may select."""
    conditions = ((label, (value,)) for label, value in service["spec"]["selector"].items())
    return label_postings.candidates(pods, views.BY_LABEL, service["metadata"]["namespace"], conditions)


async def worked_out(pods: Sequence[PodView], work: Callable[[], T]) -> T:
    """The result of a pure function of these pods, computed in a thread if they are many."""
    return work() if len(pods) <= FEW_PODS else await in_thread(work)
