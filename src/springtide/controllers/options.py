# SPDX-License-Identifier: Apache-2.0
"""What an operator is started with. `tide operator` makes it of its flags; defaults are upstream's where it has any."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field


def _own_name() -> str:
    """Told apart from another operator on the same machine, too."""
    return f"{socket.gethostname()}_{os.getpid()}"


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """How the API server reaches the validating webhook: at a URL, or by a service in the lock's namespace."""

    port: int
    """0 takes any free one."""
    url: str = ""
    """Such as https://127.0.0.1:9443, for an API server on the same machine."""
    service: str = ""
    """The name of a Service that leads to the port."""
    must_answer: bool = False
    """Whether jobs are refused while no operator answers."""


@dataclass(frozen=True, slots=True)
class Options:
    kubeconfig: str = ""
    """Empty for the usual places: $KUBECONFIG, ~/.kube/config, a pod's own account."""
    context: str = ""
    namespace: str = ""
    """Empty for all."""
    workers: int = 8
    """How many jobs are reconciled at the same time."""
    max_workers: int = 10_000
    """The most workers that one job is run with."""
    qps: float = 0.0
    """Requests a second; 0 for no limit."""
    burst: int = 0
    leader_elect: bool = True
    lock_namespace: str = "mpi-operator"
    identity: str = field(default_factory=_own_name)
    gang_scheduler: str = ""
    """Makes a PodGroup for each job, for the scheduler of this name."""
    cluster_domain: str = ""
    """Such as cluster.local; makes host names complete."""
    kubectl_image: str = ""
    """Brings kubectl to launchers whose image has none."""
    health_port: int | None = None
    metrics_port: int | None = None
    webhook: WebhookOptions | None = None
