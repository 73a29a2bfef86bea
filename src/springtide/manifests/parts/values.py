# SPDX-License-Identifier: Apache-2.0
"""A submission as the values of Arena's charts, which stand in the ConfigMap beside a job.

SSH keys and security contexts are left out: Arena never reads them there, and keys belong in a Secret only.
"""

from __future__ import annotations

from springtide.manifests.kinds import tensorboard
from springtide.manifests.parts import volumes
from springtide.manifests.parts.charts import chart_of
from springtide.manifests.parts.environment_variables import variables
from springtide.manifests.parts.labels import chart_labels
from springtide.manifests.parts.objects import Obj, filled
from springtide.manifests.parts.scheduling import has_own_interface, tolerations
from springtide.manifests.submissions.submission import Submission


def common(submission: Submission, job: Obj) -> Obj:
    """The values of all types; the job as it is rendered has what was added to the user's labels and annotations."""
    metadata = job["metadata"]
    own = chart_labels(submission)
    return {
        "trainingType": chart_of(submission).type,
        "nodeSelectors": dict(submission.node_selector),
        "configFiles": volumes.config_file_values(submission),
        "tolerations": tolerations(submission),
        "image": submission.image,
        "imagePullPolicy": submission.image_pull_policy,
        "gpuCount": submission.gpus,
        "devices": dict(submission.devices),
        "envs": variables(submission, {}),
        "workingDir": submission.working_directory,
        "shell": submission.shell,
        "command": submission.command,
        "workers": submission.workers,
        "retry": submission.retry,
        "dataset": {claim.name: claim.path for claim in submission.claims},
        "dataDirs": volumes.host_directory_values(submission),
        "enableRDMA": submission.rdma,
        "enableQueue": submission.queue,
        "useENI": has_own_interface(submission),
        "annotations": metadata["annotations"],
        "labels": {name: value for name, value in metadata["labels"].items() if name not in own},
        "priorityClassName": submission.priority,
        "coscheduling": submission.gang,
        "imagePullSecrets": list(submission.image_pull_secrets),
        "schedulerName": submission.scheduler,
        "useHostNetwork": submission.host_network,
        "useHostPID": submission.host_pid,
        "useHostIPC": submission.host_ipc,
        "modelName": submission.model_name,
        "modelSource": submission.model_source,
        **_code_sync(submission),
        **_tensorboard(submission),
    }


def _code_sync(submission: Submission) -> Obj:
    sync = submission.code_sync
    if sync is None:
        return {"syncMode": "", "syncSource": ""}
    return {"syncMode": sync.mode, "syncSource": sync.source, **filled(syncImage=sync.image)}


def _tensorboard(submission: Submission) -> Obj:
    board = submission.tensorboard
    if board is None:
        return {"useTensorboard": False}
    on_host = tensorboard.on_host(submission, board)
    return {
        "useTensorboard": True,
        "trainingLogdir": board.log_directory,
        "hostLogPath": board.host_directory if on_host else "",
        "isLocalLogging": on_host,
        **filled(tensorboardImage=board.image),
    }
