# SPDX-License-Identifier: Apache-2.0
"""What kubectl shows of jobs that wait, of ranks that die, of jobs that are over."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import environments
from tests.e2e.jobs import Job, mpijob, submitted
from tests.programs import wheels
from tests.programs.world import Cluster

pytestmark = pytest.mark.timeout(300)

PROGRAM = (Path(__file__).parents[1] / "integration" / "elastic" / "averages.py").read_text()
REPORTING = PROGRAM.replace("state.commit()", "state.commit(); elastic.report(state.step, loss=1 / state.step)")
OPTIONS = ["-np", "2", "--min-np", "1", "--max-np", "4", "--host-discovery-script", "/etc/mpi/discover_hosts.sh"]
SLEEP = ["sh", "-c", "trap 'exit 0' TERM; sleep 600 & wait"]


def worker(**container: Any) -> dict[str, Any]:
    """A role whose container has this, too."""
    pod = container.pop("pod", {})
    role = container.pop("role", {})
    return {"template": {"spec": {"containers": [{"name": "mpi", "image": "any", **container}], **pod}}, **role}


def told(job: Job, reason: str, text: str) -> str:
    """The explanation, when it says so; the event and the condition say the same."""
    job.cluster.until(lambda: text in job.status.get("explanation", ""), f"{text!r} in the explanation")
    job.cluster.until(lambda: reason in job.events(), f"an event {reason}")
    condition = job.conditions()["Waiting"]
    assert condition["reason"] == reason
    assert text in condition["message"]
    assert any(text in message for message in job.messages(reason))
    described = job.cluster.kubectl("describe", "mpijob", job.name)
    assert re.search(rf"Warning\s+{reason}\s", described)
    return str(job.status["explanation"])


def row(job: Job, *options: str) -> dict[str, str]:
    """What kubectl prints of the job, by the heads of its columns. Columns are aligned; empty ones are too."""
    head, line = job.cluster.kubectl("get", "mpijob", job.name, *options).rstrip("\n").splitlines()
    starts = [match.start() for match in re.finditer(r"\S+", head)]
    ends = [*starts[1:], None]
    return {head[start:end].strip(): line[start:end].strip() for start, end in zip(starts, ends, strict=True)}


def test_every_field_is_explained(space: Cluster) -> None:
    said = space.kubectl("explain", "mpijob")
    assert "A training job: a launcher that starts ranks on workers" in said
    said = space.kubectl("explain", "mpijob.spec.mpiReplicaSpecs.Worker.replicas")
    assert "The number of pods of this role." in said
    for path in ("", ".spec", ".spec.runPolicy", ".spec.mpiReplicaSpecs", ".spec.mpiReplicaSpecs.Worker", ".status"):
        said = space.kubectl("explain", f"mpijob{path}")
        assert "FIELDS:" in said, path
        assert "<empty>" not in said, path
        assert "<no description>" not in said, path


def test_gpus_that_nobody_has(space: Cluster) -> None:
    limits = {"limits": {"nvidia.com/gpu": 8}}
    job = submitted(space, mpijob("gpu", SLEEP, image="any", Worker={"replicas": 2, **worker(resources=limits)}))
    said = told(job, "Unschedulable", "Insufficient nvidia.com/gpu")
    assert said.startswith("2 of 2 workers cannot be scheduled: 0/2 nodes are available")
    shown = row(job)
    assert (shown["STATE"], shown["WORKERS"]) == ("Queued", "0/2")


def test_a_quota(space: Cluster) -> None:
    space.kubectl("create", "quota", "small", "--hard=pods=2")
    space.until(lambda: space.get("quota", "small").get("status", {}).get("hard"), "the quota counts")
    job = submitted(space, mpijob("many", SLEEP, image="any", workers=3))
    said = told(job, "QuotaExceeded", "exceeded quota: small")
    assert said.endswith(f"; see kubectl describe quota -n {space.kubectl.namespace}")
    space.kubectl("delete", "quota", "small")
    space.until(lambda: row(job)["WORKERS"] == "3/3", "it goes on when there is room")
    assert "Waiting" not in job.conditions()


def test_a_config_map_that_is_missing_as_a_volume(space: Cluster) -> None:
    volume = {"name": "data", "configMap": {"name": "nothing"}}
    role = worker(volumeMounts=[{"name": "data", "mountPath": "/data"}], pod={"volumes": [volume]})
    job = submitted(space, mpijob("volume", SLEEP, image="any", Worker={"replicas": 1, **role}))
    told(job, "FailedMount", 'configmap "nothing" not found')
    space.kubectl("create", "configmap", "nothing")
    space.until(lambda: row(job)["WORKERS"] == "1/1", "it goes on when it is there")


def test_and_one_that_is_missing_as_a_variable(space: Cluster) -> None:
    source = {"configMapKeyRef": {"name": "nothing", "key": "key"}}
    role = worker(env=[{"name": "KEY", "valueFrom": source}])
    job = submitted(space, mpijob("variable", SLEEP, image="any", Worker={"replicas": 1, **role}))
    told(job, "CreateContainerConfigError", 'configmap "nothing" not found')


def test_a_worker_that_crashes_again_and_again(space: Cluster) -> None:
    role = worker(command=["sh", "-c", "echo no such key >&2; exit 3"], role={"restartPolicy": "OnFailure"})
    job = submitted(space, mpijob("crash", SLEEP, image="any", Worker={"replicas": 1, **role}))
    said = told(job, "CrashLoopBackOff", "it exited with code 3: no such key")
    assert f"see kubectl logs crash-worker-0 -c mpi --previous -n {space.kubectl.namespace}" in said
    assert len(job.messages("CrashLoopBackOff")) == 1


def test_a_pod_that_an_admission_webhook_refuses(space: Cluster) -> None:
    """Nobody answers there, and that is a refusal too."""
    name, namespace = f"refuse-{space.kubectl.namespace}", space.kubectl.namespace
    hook = {
        "name": "refuse.example.com",
        "clientConfig": {"url": "https://127.0.0.1:9/refuse"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    space.kubectl("create", "-f", "-", stdin=json.dumps({**kind, "metadata": {"name": name}, "webhooks": [hook]}))
    try:
        job = submitted(space, mpijob("refused", SLEEP, image="any", workers=1))
        told(job, "FailedCreate", "refuse.example.com")
    finally:
        space.kubectl("delete", "validatingwebhookconfiguration", name)
    space.until(lambda: row(job)["WORKERS"] == "1/1", "it goes on without the webhook")


def test_newcomers_wait_until_horovodrun_has_settled(space: Cluster) -> None:
    program = "#!/bin/sh\ntrap 'exit 0' TERM\nsleep 600 &\nwait\n"
    space.kubectl("create", "configmap", "bin", f"--from-literal=horovodrun={program}")
    volume = {"name": "bin", "configMap": {"name": "bin", "defaultMode": 0o755}}
    command = ["/opt/bin/horovodrun", *OPTIONS, "--network-interface", "eth0", "python", "train.py"]
    launcher = worker(
        command=command, volumeMounts=[{"name": "bin", "mountPath": "/opt/bin"}], pod={"volumes": [volume]}
    )
    hour = {"springtide.dev/settle-seconds": "3600"}
    job = submitted(space, mpijob("settle", SLEEP, image="any", workers=2, Launcher=launcher, annotations=hour))
    job.until("Running")
    job.resize(3)
    until = r"2 of 3 workers are in the host list; settle-worker-2 joins at [0-9: -]* UTC, because the launcher"
    space.until(lambda: re.match(until, job.status["explanation"]), "until when newcomers are held back")
    assert row(job)["STATE"] == "Scaling out"


def test_a_rank_that_dies_and_the_one_in_its_place(space: Cluster) -> None:
    command = ["tiderun", *OPTIONS, "--blacklist-cooldown-range", "3", "6", "python", "-c", REPORTING, "100000"]
    job = submitted(space, mpijob("ranks", command, image="any", workers=2))
    space.until(lambda: "TrainingStarted" in job.events(), "ranks train")
    space.until(lambda: row(job, "-o", "wide")["RANKS"] == "2", "two ranks are shown")
    space.until(lambda: int(row(job, "-o", "wide")["STEP"] or 0) > 10, "steps are shown")
    wide = row(job, "-o", "wide")
    assert re.fullmatch(r"0\.\d+", wide["LOSS"])
    assert list(wide)[-3:] == ["STEP", "LOSS", "RANKS"]
    assert "STEP" not in row(job)
    space.kubectl.run("exec", "ranks-worker-1", "--", "pkill", "-9", "-f", "python -c")
    space.until(lambda: "RankLost" in job.events(), "the loss is an event")
    assert re.match(
        r"Rank \d on ranks-worker-1 was killed by SIGKILL; 1 rank continues training\.", job.messages("RankLost")[0]
    )
    space.until(lambda: "RankJoined" in job.events(), "and so is the one in its place")
    assert job.messages("RankJoined") == ["A rank on ranks-worker-1 joined as rank 1; 2 ranks train."]
    space.until(lambda: row(job)["WORKERS"] == "2/2", "both train")
    space.kubectl("delete", "mpijob", job.name)


def test_a_job_that_is_over_has_no_workers_and_cannot_be_resized(space: Cluster, tmp_path: Path) -> None:
    job = submitted(space, mpijob("over", ["true"], image="any", workers=2))
    job.until("Succeeded")
    assert (row(job)["STATE"], row(job)["WORKERS"]) == ("Succeeded", "0/2")
    spec = json.dumps({"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 3}}}})
    for words in (("scale", "mpijob", "over", "--replicas=3"), ("patch", "mpijob", "over", "--type=merge", "-p", spec)):
        said = space.kubectl.refused(*words)
        assert "the job has finished (Succeeded) and cannot be resized; delete it and create it again" in said
    editor, shown = tmp_path / "editor", tmp_path / "shown"
    editor.write_text(f'#!/bin/sh\ncat "$1" >> {shown}\nsed -i \'s/replicas: 2/replicas: 3/\' "$1"\n')
    editor.chmod(0o755)
    assert space.kubectl.run("edit", "mpijob", "over", KUBE_EDITOR=str(editor)).returncode != 0
    assert "the job has finished (Succeeded) and cannot be resized" in shown.read_text(), "when it is opened again"
    space.kubectl("scale", "mpijob", "over", "--replicas=2")


def test_an_image_without_an_environment(space: Cluster) -> None:
    """It goes on by itself when there is one."""
    name = f"env-{space.kubectl.namespace}"
    image = f"example.com/{name}/train:1.0"
    job = submitted(space, mpijob("image", ["train-it"], image=image, workers=1))
    said = told(job, "ImagePullBackOff", "cannot pull an image: images are not pulled here")
    assert "tide env create" in said
    assert len(job.messages("ImagePullBackOff")) == 1
    pulled = {
        each["state"]["waiting"]["reason"]
        for each in job.pods("Launcher")["image-launcher"]["status"]["containerStatuses"]
    }
    assert pulled <= {"PodInitializing", "ErrImagePull", "ImagePullBackOff"}


def test_a_command_that_an_existing_environment_lacks(space: Cluster) -> None:
    """The launcher fails, as with an image that lacks the command; the pod's event and the job name what helps."""
    name = f"lacks-{space.kubectl.namespace}"
    environments.offer(space, wheels.OPEN_MPI_4)
    made = space.tide.run("env", "create", name, "--pip", "mpi4py", "--image", f"example.com/{name}:*")
    assert made.returncode == 0, made
    command = ["horovodrun", "-np", "1", "python", "train.py"]
    once: dict[str, Any] = {"image": f"example.com/{name}:1.0", "workers": 1, "runPolicy": {"backoffLimit": 0}}
    job = submitted(space, mpijob("lacks", command, **once))
    failed = job.until("Failed")["message"]
    assert job.status["explanation"] == failed
    space.until(lambda: job.messages("MPIJobFailed") == [failed], "an event of the job says the same")
    missing = 'exec: "horovodrun": executable file not found in $PATH: '
    assert f"launcher exited with code 128 (StartError): {missing}" in failed
    events = space.get("events", "--field-selector=involvedObject.name=lacks-launcher,reason=Failed")["items"]
    (said,) = [str(event["message"]) for event in events]
    assert said.startswith(f'Error: {missing}image "example.com/{name}:1.0" is not pulled but runs in environment')
    helps = f"tide env create {name} --replace --pip mpi4py PACKAGE --image 'example.com/{name}:*'"
    for text in (said, failed):
        assert text.endswith(f"or make the environment anew with what is missing: {helps}")
        assert text.count("tide env create") == 1
