# SPDX-License-Identifier: Apache-2.0
"""The trainers: Arena's names for the kinds of jobs, the resource of each, and the labels of its pods.

Two trainers share TrainingJobs: one with the label app=deepspeedjob is a deepspeedjob, any other an etjob. MPIJobs are
those of kubeflow.org/v1 and v2beta1; a server shows every MPIJob in either version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

Obj = Mapping[str, Any]

APP: Final = "app"
RELEASE: Final = "release"
"""The labels by which Arena finds its jobs: the trainer's name, and the job's."""
KIND: Final = "springtide.dev/kind"
ROLE: Final = "springtide.dev/role"
INDEX: Final = "springtide.dev/index"
"""The labels of our operator; pods of other operators have only those of the kind."""

_PREFIX: Final = "training.kubeflow.org"
_ROLES: Final = (
    ROLE,
    f"{_PREFIX}/replica-type",
    "training-job-role",
    "mpi-job-role",
    "mpi_role_type",
    "tf-replica-type",
    "pytorch-replica-type",
    "replica-type",
    f"{_PREFIX}/job-role",
)
"""Labels with a pod's role. The last one means something else in TFJobs and PyTorchJobs, which have another one."""
_INDICES: Final = (
    INDEX,
    f"{_PREFIX}/replica-index",
    "replica-index",
    "tf-replica-index",
    "pytorch-replica-index",
)


class JobResource(NamedTuple):
    """The address of a kind in the API. A server may lack some of the versions; the first that is served shows all."""

    group: str
    versions: tuple[str, ...]
    plural: str
    kind: str

    @property
    def crd(self) -> str:
        return f"{self.plural}.{self.group}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    name: str
    """As in --type, and as the value of the label `app`."""
    alias: str
    short: str
    resource: JobResource
    roles: str
    """The field of the spec with the job's roles."""
    job_label: str
    """The label of pods with the name of their job, in all operators of this kind."""
    chiefs: tuple[str, ...]
    """Roles whose pod is the chief, in small letters. The first one that the job has counts; of its pods that with
    index 0."""
    group_label: tuple[str, str]
    """The label with which Arena tells pods of this kind from others."""
    counts_from_start: bool = False
    """Whether Arena counts a job's duration from its start, not from its creation."""
    scales: bool = False
    """Whether Arena scales such jobs, and has a status for it."""

    def pods_selector(self, job: str) -> str:
        """The label selector of a request for the pods of this job; `owns` says which of them are its own."""
        return f"{self.job_label}={job}"


TRAINING_JOBS: Final = JobResource("kai.alibabacloud.com", ("v1alpha1",), "trainingjobs", "TrainingJob")
MPI_JOBS: Final = JobResource("kubeflow.org", ("v1", "v2beta1"), "mpijobs", "MPIJob")
TF_JOBS: Final = JobResource("kubeflow.org", ("v1",), "tfjobs", "TFJob")
PYTORCH_JOBS: Final = JobResource("kubeflow.org", ("v1",), "pytorchjobs", "PyTorchJob")
RESOURCES: Final = (TRAINING_JOBS, MPI_JOBS, TF_JOBS, PYTORCH_JOBS)
"""Every kind once: a list of all jobs asks for each of them."""

ETJOB: Final = Trainer(
    name="etjob",
    alias="ElasticTraining",
    short="et",
    resource=TRAINING_JOBS,
    roles="etReplicaSpecs",
    job_label="training-job-name",
    chiefs=("launcher",),
    group_label=("group-name", "kai.alibabacloud.com"),
    scales=True,
)
DEEPSPEEDJOB: Final = replace(ETJOB, name="deepspeedjob", alias="DeepSpeed", short="dp")
MPIJOB: Final = Trainer(
    name="mpijob",
    alias="MPI",
    short="mpi",
    resource=MPI_JOBS,
    roles="mpiReplicaSpecs",
    job_label=f"{_PREFIX}/job-name",
    chiefs=("launcher",),
    group_label=("group_name", "kubeflow.org"),
)
TFJOB: Final = Trainer(
    name="tfjob",
    alias="Tensorflow",
    short="tf",
    resource=TF_JOBS,
    roles="tfReplicaSpecs",
    job_label=f"{_PREFIX}/job-name",
    chiefs=("chief", "master", "worker"),
    group_label=("group-name", "kubeflow.org"),
    counts_from_start=True,
)
PYTORCHJOB: Final = Trainer(
    name="pytorchjob",
    alias="Pytorch",
    short="py",
    resource=PYTORCH_JOBS,
    roles="pytorchReplicaSpecs",
    job_label=f"{_PREFIX}/job-name",
    chiefs=("master", "worker"),
    group_label=("group-name", "kubeflow.org"),
    counts_from_start=True,
)
TRAINERS: Final = (ETJOB, MPIJOB, TFJOB, PYTORCHJOB, DEEPSPEEDJOB)
JOB_LABELS: Final = tuple(dict.fromkeys(each.job_label for each in TRAINERS))
"""Every pod of a job has one of them."""


def by_word(word: str) -> Trainer | None:
    """The trainer with this name, alias or short form, in any case."""
    given = word.lower()
    return next((each for each in TRAINERS if given in (each.name, each.alias.lower(), each.short)), None)


def object_name(kind: str, name: str) -> str:
    """As `kubectl -o name` writes it."""
    resource = next(each for each in RESOURCES if each.kind == kind)
    return f"{kind.lower()}.{resource.group}/{name}"


def of_job(job: Obj) -> Trainer:
    """The trainer of an object of one of these kinds; KeyError for another kind."""
    if job["kind"] == TRAINING_JOBS.kind:
        return DEEPSPEEDJOB if labels(job).get(APP) == DEEPSPEEDJOB.name else ETJOB
    return _BY_KIND[job["kind"]]


_BY_KIND: Final = {each.resource.kind: each for each in (MPIJOB, TFJOB, PYTORCHJOB)}


def labels(obj: Obj) -> Mapping[str, str]:
    found: Mapping[str, str] = obj["metadata"].get("labels") or {}
    return found


def owns(job: Obj, pod: Obj) -> bool:
    """Whether the pod is one of this job's. Labels alone prove nothing: jobs of two kinds may have one name. A pod of a
    launcher's batch Job has that as its controller, and is recognised by the label of its kind."""
    owners = pod["metadata"].get("ownerReferences") or ()
    owner = next((each for each in owners if each.get("controller")), None)
    if owner is None or pod["metadata"].get("namespace") != job["metadata"].get("namespace"):
        return False
    if owner["kind"] != "Job":
        return bool(owner.get("uid") == job["metadata"].get("uid"))
    found = labels(pod)
    kind = found.get(KIND) or ("MPIJob" if found.get(f"{_PREFIX}/operator-name") == "mpi-operator" else "")
    return bool(kind == job["kind"] and found.get(of_job(job).job_label) == job["metadata"]["name"])


def job_names(pod: Obj) -> set[str]:
    """The names of jobs that the pod's labels claim; `owns` says whether that is true."""
    found = labels(pod)
    return {found[label] for label in JOB_LABELS if label in found}


def role(pod: Obj) -> str:
    """The pod's role in small letters; empty for a pod of no job."""
    found = labels(pod)
    return next((found[name].lower() for name in _ROLES if name in found), "")


def index(pod: Obj) -> int:
    """The pod's index in its role; 0 if it has none, like launchers."""
    found = labels(pod)
    given = next((found[name] for name in _INDICES if name in found), "0")
    return int(given) if given.isascii() and given.isdigit() else 0


def roles(job: Obj) -> Iterator[tuple[str, Obj]]:
    """The job's roles in small letters, as its spec has them."""
    found = (job.get("spec") or {}).get(of_job(job).roles) or {}
    return ((name.lower(), spec) for name, spec in found.items() if spec)


def chief_role(job: Obj) -> str:
    there = {name for name, _ in roles(job)}
    return next((name for name in of_job(job).chiefs if name in there), "")


def chief(job: Obj, pods: Iterable[Obj]) -> Obj | None:
    """The pod whose log users look at first. Of several, one that is not pending, and of those the newest."""
    lead = chief_role(job)
    found = [pod for pod in pods if role(pod) == lead and (lead != "worker" or index(pod) == 0)]
    return max(found, key=lambda pod: (not _pending(pod), pod["metadata"].get("creationTimestamp") or ""), default=None)


def _pending(pod: Obj) -> bool:
    return bool((pod.get("status") or {}).get("phase", "Pending") == "Pending")
