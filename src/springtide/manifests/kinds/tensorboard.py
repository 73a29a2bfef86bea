# SPDX-License-Identifier: Apache-2.0
"""TensorBoard beside a job: its Deployment and Service, and the directory that it shares with the job's pods.

The logs are on one of three:

    a claim of `--data`       that `--logdir` is below; or elsewhere, at an address such as s3://…
    the chief's node          Arena's way: a directory of the host, so that TensorBoard has to run on that node
    a claim of the job's own  where nodes are not to be written to, as on the embedded cluster: deleted with the job
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from springtide.manifests.parts import labels, scheduling
from springtide.manifests.parts.charts import chart_of
from springtide.manifests.parts.objects import Obj, filled, metadata
from springtide.manifests.parts.volumes import Mounted, claims
from springtide.manifests.submissions.submission import Submission, TensorBoard

PORT: Final = 6006
IMAGE: Final = "registry.cn-zhangjiakou.aliyuncs.com/acs/tensorflow:1.12.0-devel"
PROGRAM: Final = "tensorboard"
ROLE: Final = {"role": PROGRAM}
_LOGS: Final = "training-logs-volume"
_DIRECTORY: Final = "/output/training_logs"
_CLAIM_SIZE: Final = "1Gi"
_SERVICE_LABELS: Final = {
    "pytorchjob": ("controller-name", "group-name", "job-name", "pytorch-job-name"),
    "tfjob": ("group-name", "tf-job-name"),
}
_LABEL_VALUES: Final = {"controller-name": "pytorch-operator", "group-name": "kubeflow.org"}
"""All others are the job's name."""


def name(job: str) -> str:
    """Of the Deployment and the Service of a job."""
    return f"{job}-{PROGRAM}"


def image(tensorboard: TensorBoard) -> str:
    return tensorboard.image or IMAGE


def on_host(submission: Submission, tensorboard: TensorBoard) -> bool:
    """Whether the logs are in a directory of the chief's node."""
    return bool(tensorboard.host_directory) and _needs_volume(submission, tensorboard)


def volumes(submission: Submission) -> list[Mounted]:
    """The directory of the logs in the job's pods, if it is on no claim of theirs."""
    tensorboard = submission.tensorboard
    if tensorboard is None or not _needs_volume(submission, tensorboard):
        return []
    return [Mounted(_volume(submission, tensorboard), tensorboard.log_directory)]


def objects(submission: Submission, beside: Mapping[str, str]) -> list[Obj]:
    """The claim of the logs, the Service and the Deployment; `beside` are labels of the pod whose node has the logs."""
    tensorboard = submission.tensorboard
    if tensorboard is None:
        return []
    on_own_claim = _needs_volume(submission, tensorboard) and not tensorboard.host_directory
    logs = [_claim(submission)] if on_own_claim else []
    return [*logs, _service(submission), _deployment(submission, tensorboard, beside)]


def _needs_volume(submission: Submission, tensorboard: TensorBoard) -> bool:
    """Whether the logs are at a path that is not below a claim's."""
    directory = f"{tensorboard.log_directory.rstrip('/')}/"
    on_claim = any(directory.startswith(f"{claim.path.rstrip('/')}/") for claim in submission.claims)
    return directory.startswith("/") and not on_claim


def _volume(submission: Submission, tensorboard: TensorBoard) -> Obj:
    if tensorboard.host_directory:
        return {"name": _LOGS, "hostPath": {"path": tensorboard.host_directory}}
    return {"name": _LOGS, "persistentVolumeClaim": {"claimName": _claim_name(submission)}}


def _claim_name(submission: Submission) -> str:
    return f"{submission.name}-training-logs"


def _claim(submission: Submission) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(submission, _claim_name(submission), _labels(submission)),
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": _CLAIM_SIZE}}},
    }


def _service(submission: Submission) -> Obj:
    own = {
        label: _LABEL_VALUES.get(label, submission.name) for label in _SERVICE_LABELS.get(chart_of(submission).type, ())
    }
    port = {"port": PORT, "targetPort": PORT, "protocol": "TCP", "name": PROGRAM}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(submission, name(submission.name), {**_labels(submission), **own}),
        "spec": {"type": "NodePort", "ports": [port], "selector": _selector(submission)},
    }


def _deployment(submission: Submission, tensorboard: TensorBoard, beside: Mapping[str, str]) -> Obj:
    pod = {"metadata": {"labels": _selector(submission)}, "spec": _pod_spec(submission, tensorboard, beside)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(submission, name(submission.name), _labels(submission)),
        "spec": {"selector": {"matchLabels": _selector(submission)}, "template": pod},
    }


def _labels(submission: Submission) -> dict[str, str]:
    return {**labels.chart_labels(submission), **ROLE}


def _selector(submission: Submission) -> dict[str, str]:
    all_labels = _labels(submission)
    return {key: all_labels[key] for key in ("app", "chart", "release", "role")}


def _pod_spec(submission: Submission, tensorboard: TensorBoard, beside: Mapping[str, str]) -> Obj:
    if _needs_volume(submission, tensorboard):
        mounted, directory = [Mounted(_volume(submission, tensorboard), _DIRECTORY)], _DIRECTORY
    else:
        mounted, directory = claims(submission), tensorboard.log_directory
    container = {
        "name": PROGRAM,
        "image": image(tensorboard),
        "imagePullPolicy": "Always",
        "command": [PROGRAM, "--logdir", directory, "--host", "0.0.0.0"],
        "ports": [{"containerPort": PORT}],
        **filled(volumeMounts=[each.mount for each in mounted]),
    }
    return {
        **filled(
            priorityClassName=submission.priority,
            tolerations=scheduling.tolerations(submission),
            affinity=_affinity(beside, required=on_host(submission, tensorboard)),
            volumes=[each.volume for each in mounted],
            imagePullSecrets=[{"name": secret} for secret in submission.image_pull_secrets],
        ),
        "containers": [container],
    }


def _affinity(beside: Mapping[str, str], *, required: bool) -> Obj:
    """A pod that has finished attracts nothing: where TensorBoard has to be beside it, it then waits for ever. So that
    is only asked where the logs are on that node alone; a claim may be, and other nodes do as well for the rest."""
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in beside.items()]
    term = {"labelSelector": {"matchExpressions": expressions}, "topologyKey": "kubernetes.io/hostname"}
    if required:
        return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    preferred = {"weight": 100, "podAffinityTerm": term}
    return {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}
