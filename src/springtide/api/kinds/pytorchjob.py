# SPDX-License-Identifier: Apache-2.0
"""PyTorchJob, `kubeflow.org/v1`: a master and workers that meet at MASTER_ADDR, or in torchrun's rendezvous."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

from msgspec import field

from springtide.api.kinds.elastic_policy import ORDERED, ElasticPolicy
from springtide.api.kinds.fields import ANYTHING, Int32, Wire, doc, one_of
from springtide.api.kinds.metadata import ObjectMeta
from springtide.api.kinds.replicas import MASTER, WORKER, ReplicaSpecs, roles
from springtide.api.kinds.resource import ELASTIC_COLUMNS, Made, Resource, Scale, Version
from springtide.api.kinds.run_policy import RunLimits, RunPolicy
from springtide.api.kinds.status import JobStatus

ROLES: Final = (MASTER, WORKER)
"""In order of creation."""
CONTAINER: Final = "pytorch"
"""The container that trains."""
WAITING_CONTAINER: Final = "init-pytorch"
"""The init container in which workers wait for their master."""
PORT_NAME: Final = "pytorchjob-port"
PORT: Final = 23456
PROCESSES: Final = r"^(auto|cpu|gpu|xpu|[1-9][0-9]{0,8})$"
"""What torchrun takes for --nproc-per-node."""


class Backend(StrEnum):
    C10D = "c10d"
    ETCD = "etcd"
    ETCD_V2 = "etcd-v2"


class RendezvousSetting(Wire, frozen=True, kw_only=True):
    key: Annotated[str, doc("The name of the setting.")] = ""
    value: Annotated[str, doc("Its value.")] = ""


class TorchElasticPolicy(ElasticPolicy, frozen=True, kw_only=True):
    rdzv_backend: Annotated[
        str | None, doc("The rendezvous backend of torchrun; c10d by default.", one_of(Backend))
    ] = None
    rdzv_host: Annotated[str | None, doc("The host of the rendezvous; worker 0 by default.")] = None
    rdzv_port: Annotated[
        Int32 | None,
        doc("The port of the rendezvous; that of the workers by default.", minimum=1, maximum=65535),
    ] = None
    rdzv_id: Annotated[str | None, doc("The id of the rendezvous.")] = None
    rdzv_conf: Annotated[
        tuple[RendezvousSetting, ...] | None, doc("Settings of the rendezvous backend, as for --rdzv-conf.")
    ] = None
    standalone: Annotated[
        bool | None, doc("Whether each worker trains by itself, with a rendezvous of its own (--standalone).")
    ] = None
    n_proc_per_node: Annotated[Int32 | None, doc("Deprecated: use spec.nprocPerNode.", minimum=1)] = None
    max_restarts: Annotated[
        Int32 | None,
        doc("How often torchrun may restart its processes. A worker that leaves counts, too.", minimum=0),
    ] = None
    metrics: Annotated[
        tuple[dict[str, Any], ...] | None,
        doc(
            "Metrics, as of autoscaling/v2, of a HorizontalPodAutoscaler that resizes the job within its bounds.",
            items=ANYTHING,
        ),
    ] = None


class PyTorchJobSpec(RunLimits, frozen=True, kw_only=True):
    run_policy: Annotated[RunPolicy, doc("Retries, deadline, suspension and clean-up of the job.", default={})] = field(
        default_factory=RunPolicy
    )
    pytorch_replica_specs: Annotated[
        ReplicaSpecs,
        roles(
            "The roles of the job: Master and Worker. Their names may be written in any case; kubectl scale needs "
            "`Worker`.",
            ROLES,
            1,
            (
                "self.all(r, r.lowerAscii() != 'master' || !has(self[r].replicas) || self[r].replicas == 1)",
                "the Master must have 1 replica",
            ),
        ),
    ] = field(default_factory=dict)
    elastic_policy: Annotated[
        TorchElasticPolicy | None,
        doc("Declares that the workers run torchrun, which goes on when their number changes, and bounds it.", ORDERED),
    ] = None
    nproc_per_node: Annotated[
        str | None,
        doc("Processes per replica that torchrun starts: auto (the default), cpu, gpu or a number.", pattern=PROCESSES),
    ] = None


class PyTorchJob(Wire, frozen=True, kw_only=True):
    api_version: Annotated[str, doc("kubeflow.org/v1.")] = ""
    kind: Annotated[str, doc("PyTorchJob.")] = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[PyTorchJobSpec, doc("The desired state of the job.", required=["pytorchReplicaSpecs"])] = field(
        default_factory=PyTorchJobSpec
    )
    status: Annotated[JobStatus, doc("The observed state of the job; written by the operator.")] = field(
        default_factory=JobStatus
    )


RESOURCE: Final = Resource(
    group="kubeflow.org",
    kind="PyTorchJob",
    plural="pytorchjobs",
    type=PyTorchJob,
    versions=(Version("v1", storage=True),),
    description="A PyTorch job: a master and workers, or workers alone whose number may change while they train.",
    columns=ELASTIC_COLUMNS,
    scale=Scale(".spec.pytorchReplicaSpecs.Worker.replicas", "spec.pytorchReplicaSpecs[Worker].replicas"),
    makes=(Made("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),),
)
