# SPDX-License-Identifier: Apache-2.0
"""MPIJob, `kubeflow.org` v1 and v2beta1: a launcher that starts ranks on its workers.

Both versions are one type and have one schema, the union of their fields, because a write through one version prunes
the fields that this version does not have. `launcherAttachMode` records the version in which a job was submitted: its
default differs between the versions and is stored with the object at creation. `mpi_modes` has what depends on it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import field

from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.elastic_policy import MOST_WORKERS, ORDERED, ElasticPolicy
from springtide.api.kinds.fields import IMMUTABLE, Int32, Wire, doc, one_of, rules
from springtide.api.kinds.metadata import ObjectMeta
from springtide.api.kinds.replicas import LAUNCHER, REPLICA_NEEDS, WORKER, ReplicaSpec
from springtide.api.kinds.resource import ELASTIC_COLUMNS, Resource, Scale, Version
from springtide.api.kinds.run_policy import CleanPodPolicy, RunPolicy
from springtide.api.kinds.status import JobStatus


class LauncherCreation(StrEnum):
    AT_STARTUP = "AtStartup"
    WAIT_FOR_WORKERS_READY = "WaitForWorkersReady"


class Implementation(StrEnum):
    OPEN_MPI = "OpenMPI"
    INTEL = "Intel"
    MPICH = "MPICH"


class MPIReplicaSpecs(Wire, frozen=True, kw_only=True):
    launcher: Annotated[
        ReplicaSpec | None,
        doc(
            "The pod that runs mpirun, horovodrun or tiderun.",
            REPLICA_NEEDS,
            properties={"replicas": {"minimum": 1, "maximum": 1}},
        ),
    ] = field(default=None, name=LAUNCHER)
    worker: Annotated[
        ReplicaSpec | None,
        doc(
            "The pods that the launcher starts ranks on. Their number is the size of the job.",
            REPLICA_NEEDS,
            properties={"replicas": {"minimum": 1, "maximum": MOST_WORKERS}},
        ),
    ] = field(default=None, name=WORKER)


class MPIJobSpec(Wire, frozen=True, kw_only=True):
    slots_per_worker: Annotated[
        Int32 | None, doc("The number of ranks (slots) of each worker; 1 by default.", minimum=0)
    ] = None
    mpi_replica_specs: Annotated[
        MPIReplicaSpecs | None, doc("The roles of the job: one launcher and its workers.", required=[LAUNCHER])
    ] = None
    run_policy: Annotated[RunPolicy | None, doc("Retries, deadline, suspension and clean-up of the job.")] = None
    clean_pod_policy: Annotated[
        str | None, doc("As runPolicy.cleanPodPolicy, which takes precedence.", one_of(CleanPodPolicy))
    ] = None
    elastic_policy: Annotated[
        ElasticPolicy | None,
        doc(
            "Declares the job elastic and bounds its size. Without it both are read from the launcher's command line.",
            ORDERED,
        ),
    ] = None
    main_container: Annotated[
        str | None, doc("The container of a worker that ranks are started in; the first one by default.")
    ] = None
    run_launcher_as_worker: Annotated[bool | None, doc("Whether ranks are started in the launcher, too.")] = None
    ssh_auth_mount_path: Annotated[
        str | None, doc("The directory that SSH keys are mounted at; /root/.ssh by default.", minLength=1)
    ] = None
    launcher_creation_policy: Annotated[
        str | None,
        doc(
            "Whether the launcher is created with its workers (AtStartup, the default) or after them "
            "(WaitForWorkersReady).",
            one_of(LauncherCreation),
        ),
    ] = None
    mpi_implementation: Annotated[
        str | None, doc("The MPI implementation in the image; OpenMPI by default.", one_of(Implementation))
    ] = None
    launcher_attach_mode: Annotated[
        str | None,
        doc(
            "How the launcher reaches its workers: through the API server (kubexec, the default of v1) "
            "or over SSH (ssh, the default of v2beta1).",
            one_of(AttachMode) | IMMUTABLE,
        ),
    ] = None


def _only_over_ssh(role: str) -> tuple[str, str, str]:
    policy = f"self.mpiReplicaSpecs.{role}.restartPolicy"
    given = f"has(self.mpiReplicaSpecs.{role}) && has({policy})"
    return (
        f"self.launcherAttachMode != 'ssh' || !({given}) || {policy} in ['Never', 'OnFailure']",
        "must be Never or OnFailure",
        f".mpiReplicaSpecs.{role}.restartPolicy",
    )


_SPEC_RULES: Final = rules(
    (
        "self.launcherAttachMode != 'kubexec' || !has(self.slotsPerWorker) || self.slotsPerWorker >= 1",
        "must be greater than or equal to 1",
        ".slotsPerWorker",
    ),
    _only_over_ssh(LAUNCHER),
    _only_over_ssh(WORKER),
)


class MPIJob(Wire, frozen=True, kw_only=True):
    api_version: Annotated[str, doc("The version of this representation: kubeflow.org/v1 or kubeflow.org/v2beta1.")] = (
        ""
    )
    kind: Annotated[str, doc("MPIJob.")] = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[MPIJobSpec, doc("The desired state of the job.", _SPEC_RULES, required=["mpiReplicaSpecs"])] = (
        field(default_factory=MPIJobSpec)
    )
    status: Annotated[JobStatus, doc("The observed state of the job; written by the operator.")] = field(
        default_factory=JobStatus
    )


def _submitted(mode: AttachMode) -> dict[str, dict[str, str]]:
    return {"spec.launcherAttachMode": {"default": mode.value}}


RESOURCE: Final = Resource(
    group="kubeflow.org",
    kind="MPIJob",
    plural="mpijobs",
    type=MPIJob,
    versions=(
        Version("v1", differs=_submitted(AttachMode.KUBEXEC)),
        Version("v2beta1", storage=True, differs=_submitted(AttachMode.SSH)),
    ),
    description="A training job: a launcher that starts ranks on workers, whose number may change while it trains.",
    columns=ELASTIC_COLUMNS,
    short_names=("mj", "mpij"),
    scale=Scale(".spec.mpiReplicaSpecs.Worker.replicas", "spec.mpiReplicaSpecs[Worker].replicas"),
)
