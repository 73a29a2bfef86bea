# SPDX-License-Identifier: Apache-2.0
"""What a user of Kubeflow's Python SDK does with a job, run by an interpreter that has kubeflow-training.

python kubeflow_sdk.py KIND NAMESPACE        prints what each call gave, as JSON
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from kubeflow.training import TrainingClient, models
from kubernetes.client import V1Container, V1ObjectMeta, V1PodSpec, V1PodTemplateSpec

CONTAINERS = {"TFJob": "tensorflow", "PyTorchJob": "pytorch", "MPIJob": "mpi"}
LEADERS = {"TFJob": "Chief", "PyTorchJob": "Master", "MPIJob": "Launcher"}
SCRIPT = 'echo "$(hostname) trains"; sleep 4'
PATIENCE = {"wait_timeout": 90, "polling_interval": 1}


def train() -> None:
    """Runs in a pod: the SDK sends its source."""
    import time

    print("a function trains")
    time.sleep(1)


def a_job(kind: str, name: str) -> Any:
    leader, template = LEADERS[kind], V1PodTemplateSpec()
    template.spec = V1PodSpec(
        containers=[V1Container(name=CONTAINERS[kind], image="shell", command=["sh", "-c", SCRIPT])]
    )
    workers = template
    if kind == "MPIJob":  # they wait for the launcher's commands
        workers = V1PodTemplateSpec(spec=V1PodSpec(containers=[V1Container(name="mpi", image="shell")]))
    roles = {
        leader: models.KubeflowOrgV1ReplicaSpec(replicas=1, template=template, restart_policy="Never"),
        "Worker": models.KubeflowOrgV1ReplicaSpec(replicas=2, template=workers, restart_policy="Never"),
    }
    policy = models.KubeflowOrgV1RunPolicy(clean_pod_policy="None")
    if kind == "TFJob":
        spec: Any = models.KubeflowOrgV1TFJobSpec(run_policy=policy, tf_replica_specs=roles)
    elif kind == "PyTorchJob":
        spec = models.KubeflowOrgV1PyTorchJobSpec(run_policy=policy, pytorch_replica_specs=roles)
    else:
        spec = models.KubeflowOrgV1MPIJobSpec(run_policy=policy, mpi_replica_specs=roles)
    whole = getattr(models, f"KubeflowOrgV1{kind}")
    return whole(api_version="kubeflow.org/v1", kind=kind, metadata=V1ObjectMeta(name=name), spec=spec)


def refused(call: Callable[[], Any]) -> str:
    """The SDK flattens all errors to one type."""
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return ""


def pods(client: TrainingClient, kind: str) -> dict[str, list[str]]:
    """By every way to choose some."""
    leader = LEADERS[kind].lower()
    return {
        "all": sorted(client.get_job_pod_names("digits")),
        "master": client.get_job_pod_names("digits", is_master=True),
        "leader": client.get_job_pod_names("digits", replica_type=leader),
        "workers": sorted(client.get_job_pod_names("digits", replica_type="worker")),
        "second": client.get_job_pod_names("digits", replica_type="worker", replica_index=1),
    }


def changed(client: TrainingClient, kind: str) -> Any:
    """A new limit, sent as the SDK's users do: with the whole job."""
    job = a_job(kind, "digits")
    job.spec.run_policy.ttl_seconds_after_finished = 3600
    client.update_job(job, "digits")
    return client.get_job("digits").spec.run_policy.ttl_seconds_after_finished


def larger(client: TrainingClient, kind: str) -> None:
    """A size that a job of replicas with names does not follow while it runs."""
    job = a_job(kind, "digits")
    (roles,) = (value for name, value in vars(job.spec).items() if name.endswith("_replica_specs"))
    roles["Worker"].replicas = 3
    client.update_job(job, "digits")


def lived(client: TrainingClient, kind: str) -> dict[str, Any]:
    client.create_job(job=a_job(kind, "digits"))
    found: dict[str, Any] = {
        "got": client.get_job("digits").kind,
        "listed": sorted(job.metadata.name for job in client.list_jobs()),
    }
    client.wait_for_job_conditions("digits", expected_conditions={"Running"}, **PATIENCE)
    found |= {"running": client.is_job_running("digits"), "pods": pods(client, kind), "changed": changed(client, kind)}
    if kind != "MPIJob":
        found["resized"] = refused(lambda: larger(client, kind))
    ended = client.wait_for_job_conditions("digits", **PATIENCE)
    found |= {
        "conditions": [[each.type, each.status] for each in client.get_job_conditions("digits")],
        "succeeded": client.is_job_succeeded("digits"),
        "completed": ended.status.completion_time is not None,
        "logs": client.get_job_logs("digits")[0],
        "followed": client.get_job_logs("digits", follow=True)[0],
        "events": sorted(client.get_job_logs("digits", is_master=False, verbose=True)[1]),
    }
    client.delete_job("digits")
    found["gone"] = refused(lambda: client.get_job("digits"))
    return found


def of_a_function(client: TrainingClient) -> dict[str, Any]:
    """One replica, as a user begins with; the SDK cannot make an MPIJob like this."""
    client.create_job(name="function", base_image="shell", train_func=train, num_workers=1)
    client.wait_for_job_conditions("function", **PATIENCE)
    logs: dict[str, Any] = client.get_job_logs("function")[0]
    client.delete_job("function")
    return logs


def main() -> None:
    kind, namespace = sys.argv[1:]
    client = TrainingClient(namespace=namespace, job_kind=kind)
    found = lived(client, kind)
    if kind != "MPIJob":
        found["function"] = of_a_function(client)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
