# SPDX-License-Identifier: Apache-2.0
"""The operator's options. `tide operator` sets them from its flags; defaults are upstream's where it has any."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field


def _own_name() -> str:
    """Unique among operators, also on one machine."""
    return f"{socket.gethostname()}_{os.getpid()}"


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """How the API server reaches the validating webhook: at a URL, or by a Service in the lock's namespace."""

    port: int
    """0: any free port."""
    url: str = ""
    """Such as https://127.0.0.1:9443, for an API server on the same machine."""
    service: str = ""
    """The name of the Service that leads to the port."""
    must_answer: bool = False
    """Whether jobs are rejected while no operator answers."""


@dataclass(frozen=True, slots=True)
class Options:
    kubeconfig: str = ""
    """Empty: $KUBECONFIG, ~/.kube/config, or the pod's service account."""
    context: str = ""
    kinds: tuple[str, ...] = ()
    """The kinds of jobs that are served; empty: all that the cluster defines."""
    namespace: str = ""
    """Empty: all namespaces."""
    workers: int = 8
    """Jobs that are reconciled concurrently."""
    max_workers: int = 10_000
    """The most workers of one job."""
    qps: float = 0.0
    """Requests per second; 0: no limit."""
    burst: int = 0
    leader_elect: bool = True
    lock_namespace: str = "mpi-operator"
    identity: str = field(default_factory=_own_name)
    gang_scheduler: str = ""
    """The scheduler for whose PodGroups one is made per job; empty: no gang scheduling."""
    cluster_domain: str = ""
    """Such as cluster.local; completes host names."""
    kubectl_image: str = ""
    """The image that delivers kubectl to launchers whose image has none."""
    health_port: int | None = None
    metrics_port: int | None = None
    webhook: WebhookOptions | None = None
