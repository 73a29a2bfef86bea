# SPDX-License-Identifier: Apache-2.0
"""Jobs of a kind that has scalers: an MPIJob whose size they change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.simulated import Cluster

from springtide.api.job import Job
from springtide.api.kinds.conditions import condition
from springtide.api.kinds.scalers import SCALE_FAILED, SCALE_SUCCEEDED
from springtide.jobs.kind import Shape
from springtide.jobs.kinds.mpi.adapter import MPIKind
from springtide.jobs.scaling.scaler import Scaler

LABEL: Final = "scaleout-name"
SIZE: Final = ("spec", "mpiReplicaSpecs", "Worker", "replicas")
UNPLACED: Final = (
    "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: 0/3 nodes are "
    "available: 3 No preemption victims found for incoming pod."
)


class Scalable(MPIKind):
    def shape(self, job: Job[Any]) -> Shape:
        return replace(super().shape(job), size_field=SIZE, slots_per_worker=job.own.slots_per_worker)

    def scaler_label(self) -> str:
        return LABEL


def scalable(
    workers: int = 3,
    bounds: tuple[int, int] = (1, 6),
    program: str = "tiderun",
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> Cluster:
    """Submitted, nothing done yet."""
    least, most = map(str, bounds)
    options = ("-np", "1", "--min-np", least, "--max-np", most, "--network-interfaces", "eth0")
    command = (program, *options, "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "python", "train.py")
    raw = an_mpijob("v1", workers=workers, command=command, **spec)
    raw["metadata"]["annotations"] = annotations or {}
    return Cluster(raw, kind=Scalable())


def end(scaler: Scaler) -> str:
    """The type and message of the condition in which it ended; empty if it has not."""
    found = [condition(scaler.status.conditions, type_) for type_ in (SCALE_SUCCEEDED, SCALE_FAILED)]
    said = [f"{each.type}: {each.message}" for each in found if each is not None and each.status == "True"]
    assert len(said) < 2, "a scaler has ended twice"
    return said[0] if said else ""


def types(scaler: Scaler) -> list[str]:
    """Of its conditions, in their order."""
    return [each.type for each in scaler.status.conditions]


def names(*indices: int) -> tuple[str, ...]:
    return tuple(f"pi-worker-{index}" for index in indices)


def members(cluster: Cluster) -> tuple[str, ...]:
    return names(*sorted(cluster.snapshot.ledger.members))
