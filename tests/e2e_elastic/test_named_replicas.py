# SPDX-License-Identifier: Apache-2.0
"""TFJobs and PyTorchJobs with the real frameworks: the users' documents unchanged, and torchrun that is resized."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests import documents
from tests.e2e.jobs import Job, submitted
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(500)
PATIENCE = 240.0
PROGRAMS = Path(__file__).parent / "programs"
READ_SCALARS = """
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
events.Reload()
names = [*events.Tags()["scalars"], *events.Tags()["tensors"]]
assert names, events.Tags()
print(*names)
"""


def of_document(cluster: Cluster, file: str, **changed: Any) -> Job:
    """A job of the documents, unchanged but for the namespace, and for fields of its run policy."""
    manifest = yaml.safe_load((documents.MANIFESTS / f"{file}.yaml").read_text())
    manifest["metadata"].pop("namespace", None)
    if changed:
        manifest["spec"]["runPolicy"] = changed
    job = submitted(cluster, manifest)
    return Job(cluster, job.name, PATIENCE, job.kind)


def test_the_document_s_pytorch_job_trains_over_gloo(space: Callable[..., Cluster]) -> None:
    job = of_document(space("pytorch"), "pytorch_job_mnist_gloo")
    job.until("Succeeded")
    for pod, rank in (("master-0", 0), ("worker-0", 1), ("worker-1", 2)):
        log = job.cluster.logs(f"{job.name}-{pod}")
        assert f"rank {rank} of 3 on {job.name}-{pod}, backend gloo; the sum of a one from each is 3" in log
        losses = [float(loss) for loss in re.findall(r"loss (\d\.\d+)", log)]
        assert losses[-1] < losses[0] / 2, log
        (accuracy,) = re.findall(r"with 3 ranks; accuracy (0\.\d+)", log)
        assert float(accuracy) > 0.85


def test_pytorch_over_mpi_says_that_wheels_lack_it_and_what_to_do(space: Callable[..., Cluster]) -> None:
    job = of_document(space("pytorch"), "pytorch_job_mnist_mpi", backoffLimit=1)
    states: set[str] = set()

    def failed() -> bool:
        states.add(str(job.status.get("state")))
        return "Failed" in job.conditions()

    job.cluster.until(failed, "it has failed", PATIENCE)
    assert "Restarting" in states
    explanation = str(job.status["explanation"])
    assert "Distributed package doesn't have MPI built in" in explanation
    assert "MPIJob" in explanation


@pytest.fixture
def data() -> Iterator[Path]:
    """Where the document's volume is."""
    there = Path("/tmp/data")
    if there.exists():
        pytest.skip("/tmp/data exists already: the document's volume would be shared with it")
    there.mkdir(mode=0o777)
    yield there
    shutil.rmtree(there)


def test_the_document_s_tensorflow_job_writes_what_tensorboard_reads(
    space: Callable[..., Cluster], tensorflow_python: Path, data: Path
) -> None:
    cluster = space("tensorflow-preset")
    volume, claim = (
        yaml.safe_load((documents.MANIFESTS / f"{file}.yaml").read_text()) for file in ("tfevent-pv", "tfevent-pvc")
    )
    claim["metadata"].pop("namespace", None)
    for each in (volume, claim):
        cluster.kubectl("apply", "-f", "-", stdin=json.dumps(each))
    job = of_document(cluster, "tf_job_mnist")
    job.until("Succeeded")
    log = cluster.logs("mnist-worker-0")
    assert "a stand-in that comes with Springtide" in log.splitlines()[0]
    folders = {str(file.parent) for file in data.rglob("events.out.tfevents.*")}
    assert folders, log
    for folder in folders:
        command = [str(tensorflow_python), "-c", READ_SCALARS, folder]
        subprocess.run(command, check=True, capture_output=True)
    cluster.kubectl("delete", "pv", "tfevent-volume", "--wait=false")


def test_the_document_s_distributed_tensorflow_job_trains_as_one_group(space: Callable[..., Cluster]) -> None:
    job = of_document(space("tensorflow-preset"), "distributed_tfjob")
    job.until("Succeeded")
    for index in range(2):
        log = job.cluster.logs(f"{job.name}-worker-{index}")
        assert "2 replicas in sync; the sum of a one from each is 2" in log
    explained = f"{job.name}-ps-0 still runs, because cleanPodPolicy is None"
    job.cluster.until(lambda: explained in str(job.status["explanation"]), "only its ps is left, and the job says so")
    job.cluster.kubectl("delete", "tfjob", job.name)
    job.cluster.until(lambda: not job.cluster.pods(), "its ps is gone with the job")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """What all workers see at /data, as another user perhaps."""
    for program in ("torchrun_elastic.py", "dynamic_worker.py"):
        shutil.copy(PROGRAMS / program, tmp_path)
    (tmp_path / "pause").write_text("0.1")
    tmp_path.chmod(0o777)
    return tmp_path


def a_template(shared: Path, name: str, image: str, *command: str) -> dict[str, Any]:
    container = {
        "name": name,
        "image": f"example/{image}:1",
        "command": list(command),
        "env": [{"name": "OMP_NUM_THREADS", "value": "1"}],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    return {"spec": {"containers": [container], "volumes": [{"name": "data", "hostPath": {"path": str(shared)}}]}}


def elastic(shared: Path, steps: int) -> dict[str, Any]:
    program = ["/data/torchrun_elastic.py", "/data/checkpoint", str(steps), "/data/pause"]
    template = a_template(shared, "pytorch", "torch", "python", "-m", "torch.distributed.run", *program)
    conf = [{"key": "last_call_timeout", "value": "3"}, {"key": "keep_alive_max_attempt", "value": "2"}]
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "elastic"},
        "spec": {
            "elasticPolicy": {"rdzvBackend": "c10d", "minReplicas": 1, "maxReplicas": 3, "rdzvConf": conf},
            "nprocPerNode": "1",
            "pytorchReplicaSpecs": {
                "Worker": {"replicas": 1, "restartPolicy": "OnFailure", "template": template},
            },
        },
    }


def whole(shared: Path, steps: int) -> dict[str, Any]:
    program = ["python", "/data/torchrun_elastic.py", "/data/checkpoint", str(steps), "/data/pause"]
    template = a_template(shared, "pytorch", "torch", *program)
    roles = {role: {"replicas": count, "template": template} for role, count in (("Master", 1), ("Worker", 2))}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "whole", "annotations": {"springtide.dev/restart": "whole-job"}},
        "spec": {"pytorchReplicaSpecs": roles},
    }


def process_of(pod: str, shared: Path) -> int:
    """The id of a pod's program on this machine: in the pod it is 1, which no signal from there kills."""
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            variables = (place / "environ").read_bytes().split(b"\0")
            if f"HOSTNAME={pod}".encode() in variables and (place / "root/data").samefile(shared):
                return int(place.name)
    raise AssertionError(f"no program of {pod} runs")


def trained(job: Job) -> list[tuple[int, int]]:
    """Steps and sizes of the group, as rank 0 said them, wherever it was."""
    found: list[tuple[int, int]] = []
    for name in job.cluster.pods():
        log = job.cluster.kubectl.run("logs", name).stdout
        found += [(int(step), int(size)) for step, size in re.findall(r"^step (\d+) size (\d)", log, re.MULTILINE)]
    return sorted(found)


def test_torchrun_goes_on_while_it_is_resized_and_loses_a_worker(space: Callable[..., Cluster], shared: Path) -> None:
    cluster = space("torch")
    submitted(cluster, elastic(shared, steps=4000))
    job = Job(cluster, "elastic", PATIENCE, "pytorchjob")

    def trains(size: int) -> Callable[[], bool]:
        before = len([each for each in trained(job) if each[1] == size])
        return lambda: len([each for each in trained(job) if each[1] == size]) > before

    cluster.until(trains(1), "one worker trains", PATIENCE)
    cluster.kubectl("scale", "pytorchjob", "elastic", "--replicas=3")
    cluster.until(trains(3), "three workers train", PATIENCE)
    with cluster.kubectl.start("logs", "-f", "elastic-worker-2") as log:
        cluster.kubectl("scale", "pytorchjob", "elastic", "--replicas=2")
        said, _ = log.communicate(timeout=60)
    assert "SIGTERM seen on elastic-worker-2" in str(said), "the worker that leaves is warned"
    cluster.until(trains(2), "two workers train", PATIENCE)
    cluster.kubectl("delete", "pod", "elastic-worker-1", "--wait=false")
    cluster.until(trains(2), "two workers train again", PATIENCE)
    steps = [step for step, _ in trained(job)]
    assert not {"Failed", "Succeeded"} & set(job.conditions())
    assert len(steps) - len(set(steps)) <= 4, "no more than the step under way is done again at a change"
    (shared / "pause").write_text("0")
    job.until("Succeeded")


def test_when_a_rank_is_killed_all_restart_together_and_go_on_from_the_checkpoint(
    space: Callable[..., Cluster], shared: Path
) -> None:
    cluster = space("torch")
    submitted(cluster, whole(shared, steps=300))
    job = Job(cluster, "whole", PATIENCE, "pytorchjob")
    cluster.until(lambda: len(trained(job)) > 10, "three ranks train", PATIENCE)
    before = {pod["metadata"]["uid"] for pod in cluster.pods().values()}
    os.kill(process_of("whole-worker-1", shared), signal.SIGKILL)
    begun = re.compile(r"^rank (\d) of 3 on \S+ from step (\d+)", re.MULTILINE)

    def begins() -> list[tuple[str, str]]:
        anew = [name for name, pod in cluster.pods().items() if pod["metadata"]["uid"] not in before]
        return [found for name in anew for found in begun.findall(cluster.kubectl.run("logs", name).stdout)]

    cluster.until(lambda: len(begins()) == 3, "three new ranks begin", PATIENCE)
    assert sorted(rank for rank, _ in begins()) == ["0", "1", "2"]
    (step,) = {int(step) for _, step in begins()}
    assert step > 10, "they go on from the checkpoint"
    (shared / "pause").write_text("0")
    job.until("Succeeded")
    steps = trained(job)
    assert {size for _, size in steps} == {3}, "the sum over ranks has a one of each"
    assert (steps[0][0], steps[-1][0]) == (step + 1, 300)
    assert sum(job.status["restarts"].values()) == 1, job.status


def test_a_dynamic_tensorflow_worker_joins_and_trains_the_same_variables(
    space: Callable[..., Cluster], shared: Path
) -> None:
    cluster = space("tensorflow")
    program = ["python", "/data/dynamic_worker.py", "4000", "/data/pause"]
    role = {
        "replicas": 1,
        "restartPolicy": "OnFailure",
        "template": a_template(shared, "tensorflow", "tensorflow", *program),
    }
    spec = {"enableDynamicWorker": True, "tfReplicaSpecs": {"PS": role, "Worker": role}}
    metadata = {"name": "dynamic"}
    submitted(cluster, {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": metadata, "spec": spec})
    job = Job(cluster, "dynamic", PATIENCE, "tfjob")

    def steps(worker: int) -> list[int]:
        log = cluster.kubectl.run("logs", f"dynamic-worker-{worker}").stdout
        return [int(step) for step in re.findall(r"global step (\d+)", log)]

    cluster.until(lambda: len(steps(0)) > 10, "worker 0 trains", PATIENCE)
    cluster.kubectl("scale", "tfjob", "dynamic", "--replicas=2")
    cluster.until(lambda: steps(1), "worker 1 trains", PATIENCE)
    assert steps(1)[0] > steps(0)[9], "it goes on with the variables of the others"
    (shared / "pause").write_text("0")
    job.until("Succeeded")
    assert max(steps(0)) >= 4000 > len(steps(0)), "both have counted"
