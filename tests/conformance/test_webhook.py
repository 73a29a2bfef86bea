# SPDX-License-Identifier: Apache-2.0
"""What people read when the webhook refuses them, at the embedded API server and at the real one, by stock kubectl."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from tests.conformance.programs import Kubectl, eventually

from springtide.controllers.options import Options, WebhookOptions
from springtide.controllers.webhook.webhook import judging
from springtide.jobs.registry import SERVED
from springtide.kube.client import Client

POLICY = "spec.elasticPolicy"
OUTSIDE = (
    'The MPIJob "pi" is invalid: spec.mpiReplicaSpecs[Worker].replicas: Invalid value: 9: '
    f"must be between 1 and 4, as {POLICY} says; ask for 4 or change {POLICY} first"
)


def a_job(version: str = "v1", workers: int = 2, **spec: Any) -> str:
    template = {"spec": {"containers": [{"name": "main", "image": "pi"}]}}
    roles = {"Launcher": {"replicas": 1, "template": template}, "Worker": {"replicas": workers, "template": template}}
    bounds = {"minReplicas": 1, "maxReplicas": 4}
    job = {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": "MPIJob",
        "metadata": {"name": "pi"},
        "spec": {"elasticPolicy": bounds, "mpiReplicaSpecs": roles, **spec},
    }
    text: str = yaml.safe_dump(job)
    return text


@contextmanager
def judging_in_a_thread(admin: Kubectl) -> Iterator[None]:
    ends, begun = asyncio.Event(), threading.Event()
    loop = asyncio.new_event_loop()
    options = Options(namespace=admin.namespace, lock_namespace=admin.namespace, webhook=WebhookOptions(0))

    async def judge() -> None:
        async with await Client.connect(str(admin.kubeconfig)) as client, judging(client, options, SERVED):
            begun.set()
            await ends.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(judge()), name="webhook")
    thread.start()
    try:
        assert begun.wait(20)
        probe = ("create", "--dry-run=server", "-f", "-")
        eventually(lambda: admin.run(*probe, stdin=a_job(workers=9)).returncode != 0, "the webhook is asked")
        yield
    finally:
        loop.call_soon_threadsafe(ends.set)
        thread.join()
        loop.close()
        with warnings.catch_warnings():  # an API server that never hangs up leaves the webhook's end open
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
        admin("delete", "validatingwebhookconfiguration", f"springtide-{admin.namespace}")


@pytest.fixture
def judged(admin: Kubectl) -> Iterator[Kubectl]:
    """kubectl in a namespace whose jobs are judged."""
    with judging_in_a_thread(admin):
        yield admin


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_create_apply_and_replace_name_field_cause_and_way_out(judged: Kubectl, version: str) -> None:
    for verb in ("create", "apply"):
        assert judged.refused(verb, "-f", "-", stdin=a_job(version, workers=9)).strip() == OUTSIDE
    judged("create", "-f", "-", stdin=a_job(version))
    for verb in ("apply", "replace"):
        assert judged.refused(verb, "-f", "-", stdin=a_job(version, workers=9)).strip().endswith(OUTSIDE)


def test_patch_and_scale_are_refused_alike(judged: Kubectl) -> None:
    judged("create", "-f", "-", stdin=a_job())
    patch = json.dumps({"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 9}}}})
    assert judged.refused("patch", "mpijob", "pi", "--type=merge", "-p", patch).strip() == OUTSIDE
    assert judged.refused("scale", "mpijob", "pi", "--replicas=9").strip() == OUTSIDE
    judged("scale", "mpijob", "pi", "--replicas=4")
    assert judged("get", "mpijob", "pi", "-o", "jsonpath={.spec.mpiReplicaSpecs.Worker.replicas}") == "4"


def test_an_edit_is_refused_above_the_text_that_was_edited(judged: Kubectl) -> None:
    judged("create", "-f", "-", stdin=a_job())
    editor = judged.home / "editor.sh"
    editor.write_text('cat "$1" >> "$HOME/seen"\nsed -i -e "s/replicas: 2/replicas: 9/" "$1"\n')
    # It is opened again with the complaint above; when it then changes nothing more, kubectl gives up.
    done = judged.run("edit", "mpijob", "pi", KUBE_EDITOR=f"sh {editor}", TMPDIR=str(judged.home))
    assert done.returncode != 0
    assert 'mpijobs.kubeflow.org "pi" is invalid' in done.stderr
    assert f"# * {OUTSIDE.partition('invalid: ')[2]}\n" in (judged.home / "seen").read_text()


def test_several_mistakes_are_told_at_once(judged: Kubectl) -> None:
    policy = {"schedulingPolicy": {"minAvailable": -1, "scheduleTimeoutSeconds": -2}}
    complaint = judged.refused("create", "-f", "-", stdin=a_job(runPolicy=policy))
    place = "* spec.runPolicy.schedulingPolicy"
    assert [line.strip() for line in complaint.splitlines()] == [
        'The MPIJob "pi" is invalid:',
        f"{place}.minAvailable: Invalid value: -1: must be greater than or equal to 0",
        f"{place}.scheduleTimeoutSeconds: Invalid value: -2: must be greater than or equal to 0",
    ]


def test_an_old_mistake_is_a_warning_to_whoever_changes_something_else(admin: Kubectl) -> None:
    admin("create", "-f", "-", stdin=a_job(workers=9))
    with judging_in_a_thread(admin):
        done = admin.run("patch", "mpijob", "pi", "--type=merge", "-p", '{"spec":{"mainContainer":"main"}}')
        assert done.returncode == 0
        assert done.stderr.startswith("Warning: still spec.mpiReplicaSpecs[Worker].replicas: Invalid value: 9: ")
        assert admin.run("label", "mpijob", "pi", "team=a").stderr == ""


def a_tfjob(workers: str = "Worker", **spec: Any) -> str:
    template = {"spec": {"containers": [{"name": "tensorflow", "image": "train"}]}}
    roles = {"Ps": {"replicas": 1, "template": template}, workers: {"replicas": 2, "template": template}}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "mnist"},
        "spec": {"tfReplicaSpecs": roles, **spec},
    }
    text: str = yaml.safe_dump(job)
    return text


def begun(kubectl: Kubectl, manifest: str) -> None:
    kubectl("create", "-f", "-", stdin=manifest)
    status = json.dumps({"status": {"startTime": "2026-01-02T03:04:05Z"}})
    kubectl("patch", "tfjob", "mnist", "--subresource=status", "--type=merge", "-p", status)


def test_a_running_job_keeps_its_size_until_it_is_suspended(judged: Kubectl) -> None:
    begun(judged, a_tfjob())
    said = (
        'The TFJob "mnist" is invalid: spec.tfReplicaSpecs[{}].replicas: Forbidden: a TFJob without '
        "spec.enableDynamicWorker keeps its size while it runs; suspend it, change the size and resume it, which "
        "starts it again, from its checkpoint if it has one"
    )
    assert judged.refused("scale", "tfjob", "mnist", "--replicas=3").strip() == said.format("Worker")
    patch = ("patch", "tfjob", "mnist", "--type=merge", "-p")
    larger = json.dumps({"spec": {"tfReplicaSpecs": {"Ps": {"replicas": 2}}}})
    assert judged.refused(*patch, larger).strip() == said.format("Ps")
    editor = judged.home / "editor.sh"
    editor.write_text('sed -i -e "s/replicas: 1/replicas: 2/" "$1"\n')
    done = judged.run("edit", "tfjob", "mnist", KUBE_EDITOR=f"sh {editor}", TMPDIR=str(judged.home))
    assert 'tfjobs.kubeflow.org "mnist" is invalid' in done.stderr
    judged(*patch, '{"spec":{"runPolicy":{"suspend":true}}}')
    judged(*patch, larger)
    judged("scale", "tfjob", "mnist", "--replicas=3")
    judged(*patch, '{"spec":{"runPolicy":{"suspend":false}}}')


def test_who_creates_an_elastic_job_whose_workers_scale_does_not_find_is_told(judged: Kubectl) -> None:
    done = judged.run("create", "-f", "-", stdin=a_tfjob("worker", enableDynamicWorker=True))
    assert done.returncode == 0
    assert done.stderr.strip() == (
        "Warning: spec.tfReplicaSpecs[worker]: kubectl scale and autoscalers need the spelling Worker; with worker the "
        "job can be resized by kubectl edit and patch only"
    )
    assert "kubectl scale and autoscalers need Worker" in judged.refused("scale", "tfjob", "mnist", "--replicas=3")
    judged("patch", "tfjob", "mnist", "--type=merge", "-p", '{"spec":{"tfReplicaSpecs":{"worker":{"replicas":3}}}}')
