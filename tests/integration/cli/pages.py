# SPDX-License-Identifier: Apache-2.0
"""Prints what people see of a few jobs, command after command, at a fixed time: run by test_what_people_see.py."""

from __future__ import annotations

import datetime
import shlex
import sys
from typing import Any

NOW = (2025, 1, 2, 3, 10, 5)


class Fixed(datetime.datetime):
    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return cls(*NOW, tzinfo=datetime.UTC).astimezone(tz)


datetime.datetime = Fixed  # type: ignore[misc]  # before any other module takes it from there

from tests.unit.cli.fake_cluster import FakeCluster  # noqa: E402
from tests.unit.views.builders import a_job, a_pod, a_role, stamp  # noqa: E402

from springtide.cli import app, connecting  # noqa: E402
from springtide.cli.connecting import Target  # noqa: E402
from springtide.kube import config  # noqa: E402
from springtide.kube.client import Client  # noqa: E402

COMMANDS = (
    *("--help", "list", "list -o wide", "get bert", "get bert -e", "explain waiting", "explain bert", "top job"),
    *("top node", "get nobody", "list -T nothing"),
)


def cluster() -> FakeCluster:
    running: dict[str, Any] = {"state": "Running", "workers": "2/2", "startTime": stamp(2), "minReplicas": 1}
    progress = {"step": 1200, "loss": "0.2500", "ranks": 2}
    bert = a_job(**running, maxReplicas=9, progress=progress, explanation="The job runs with 2 workers.")
    said = "2 of 2 workers wait for a place on a node."
    roles = {"Launcher": a_role(), "Worker": a_role(2, gpus=8)}
    waiting = a_job("MPIJob", roles, name="waiting", state="Queued", workers="0/2", explanation=said)
    chinese = a_job("TFJob", {"Worker": a_role(4)}, name="resnet-50", labels={"team": "视觉"}, **running)
    ended: dict[str, Any] = {"state": "Failed", "startTime": stamp(2), "completionTime": stamp(200), "workers": "0/1"}
    failed = {"type": "Failed", "status": "True", "reason": "TrainingJobFailed", "lastTransitionTime": stamp(200)}
    failed |= {"message": "TrainingJob default/broken has failed because its launcher exited with code 1."}
    broken = a_job(name="broken", conditions=[failed], explanation=str(failed["message"]), **ended)
    node = {
        "kind": "Node",
        "metadata": {"name": "gpu-1", "creationTimestamp": stamp(-90000)},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "capacity": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "8", "pods": "110"},
            "allocatable": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "8", "pods": "110"},
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        },
    }
    event = {
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "TrainingJob", "name": "bert", "uid": bert["metadata"]["uid"]},
        "type": "Normal",
        "reason": "ScalingOut",
        "message": "1 → 2 workers: worker bert-worker-1 is added, as spec.etReplicaSpecs.worker.replicas asks for",
        "lastTimestamp": stamp(100),
    }
    pods = [a_pod(bert, "launcher"), a_pod(bert, "worker", 0, gpus=1), a_pod(bert, "worker", 1, gpus=1)]
    return FakeCluster(bert, waiting, chinese, broken, node, event, *pods)


class _Target(Target):
    def client(self, *, streams: bool = False) -> Client:
        return Client(cluster())


def main() -> None:
    def found(kubeconfig_path: str = "", context: str = "", namespace: str = "") -> Target:
        return _Target(config.Connection("http://fake"), namespace or "default")

    connecting.found = found
    for command in COMMANDS:
        print(f"$ tide {command}", flush=True)
        code = _run(command)
        sys.stdout.flush()
        sys.stderr.flush()
        if code:
            print(f"(exit code {code})", flush=True)


def _run(command: str) -> int:
    try:
        app.tide(shlex.split(command), prog_name="tide")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


if __name__ == "__main__":
    main()
