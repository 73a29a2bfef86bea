# SPDX-License-Identifier: Apache-2.0
"""Runs all controllers in one process over one set of informers.

The controllers are independent of the API server: they use only the Kubernetes API and `Facts`. A new
controller is a line in `CONTROLLERS`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from springtide.kube.client import Client
from springtide.kube.controller import Controller, run
from springtide.kube.events import EventRecorder
from springtide.kube.informer import Informers
from springtide.local.controller_manager import quotas
from springtide.local.controller_manager.access import role_aggregation, root_ca, service_accounts
from springtide.local.controller_manager.autoscaling import autoscalers
from springtide.local.controller_manager.batch import job_cleanup, job_orphans, jobs
from springtide.local.controller_manager.garbage_collection import event_expiry, namespaces
from springtide.local.controller_manager.garbage_collection.garbage import GarbageCollector
from springtide.local.controller_manager.network import endpoint_slices, endpoints, kubernetes_service
from springtide.local.controller_manager.nodes import lifecycle, pod_garbage, taint_eviction
from springtide.local.controller_manager.storage import (
    ephemeral_volumes,
    local_provisioner,
    volume_binding,
    volume_protection,
)
from springtide.local.controller_manager.workloads import deployments, disruption_budgets, replica_sets


class ControllerModule(Protocol):
    """The interface of a controller's module."""

    COMPONENT: str
    """The reporting component of its events."""

    def controller(self, informers: Informers, client: Client, recorder: EventRecorder, /) -> Controller[Any]: ...


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts that cannot be read through the API."""

    authority: str
    """The PEM certificate of the CA of the server's certificate."""
    service_address: str
    """The address of the service `kubernetes`."""
    port: int
    """The server's port."""
    volumes: Path
    """The directory of the local storage class's volumes."""


CONTROLLERS: Sequence[ControllerModule] = (
    service_accounts,
    endpoints,
    endpoint_slices,
    volume_binding,
    volume_protection,
    ephemeral_volumes,
    quotas,
    role_aggregation,
    event_expiry,
    replica_sets,
    deployments,
    jobs,
    job_cleanup,
    job_orphans,
    disruption_budgets,
    autoscalers,
    lifecycle,
    taint_eviction,
    pod_garbage,
)


async def run_controllers(client: Client, facts: Facts) -> None:
    """Runs until cancelled."""
    informers = Informers(client)
    components = [module.COMPONENT for module in CONTROLLERS] + [local_provisioner.COMPONENT]
    recorders = {component: EventRecorder(client, component) for component in components}
    garbage = GarbageCollector(informers, client)
    controllers: list[Controller[Any]] = [
        garbage.discovery,
        garbage.controller,
        garbage.cycles,
        namespaces.controller(informers, client),
        root_ca.controller(informers, client, facts.authority),
        kubernetes_service.controller(informers, client, facts.service_address, facts.port),
        local_provisioner.controller(informers, client, recorders[local_provisioner.COMPONENT], facts.volumes),
    ]
    controllers += [module.controller(informers, client, recorders[module.COMPONENT]) for module in CONTROLLERS]
    async with asyncio.TaskGroup() as group:
        for component, recorder in recorders.items():
            group.create_task(recorder.run(), name=f"events of {component}")
        group.create_task(run(informers, controllers), name="controllers")
