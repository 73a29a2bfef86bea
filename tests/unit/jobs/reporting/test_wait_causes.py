# SPDX-License-Identifier: Apache-2.0
"""Why a job waits: in its explanation, in the condition Waiting, and in one event for each cause."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.unit.api.builders import an_mpijob
from tests.unit.jobs.builders import a_toy, elastic, reasons, running
from tests.unit.jobs.simulated import Cluster

from springtide.api.kinds.conditions import Condition, condition
from springtide.jobs.actions import Event, Inquire, RequeueAfter
from springtide.jobs.observed import Exit, Key, LauncherJob, Waiting, WarningEvent
from springtide.jobs.reporting import wait_causes

NO_GPU = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available."
MISSING = 'MountVolume.SetUp failed for volume "data" : configmap "data" not found'


def submitted(workers: int = 2, version: str = "v1", **spec: Any) -> Cluster:
    """Its pods exist and have no node yet."""
    cluster = elastic(workers, version, **spec)
    cluster.reconcile()
    cluster.reconcile()
    cluster.events.clear()
    return cluster


def wait(cluster: Cluster, *names: str, reason: str, message: str = "", **more: Any) -> None:
    placed = reason not in (wait_causes.UNSCHEDULABLE, wait_causes.GATED)
    for name in names:
        waits = Waiting(reason, message, "main" if placed else "", **more)
        cluster.change(name, node="node-a" if placed else "", waiting=waits)
    cluster.reconcile()


def wait_on(cluster: Cluster) -> Condition | None:
    return condition(cluster.status.conditions, "Waiting")


def test_the_scheduler_says_what_a_job_without_gpus_waits_for() -> None:
    cluster = submitted()
    wait(cluster, "pi-worker-0", "pi-worker-1", reason="Unschedulable", message=NO_GPU)
    message = (
        "2 of 2 workers cannot be scheduled: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 "
        "nodes are available; see kubectl describe pod pi-worker-0 -n ns"
    )
    assert (cluster.status.state, cluster.status.explanation) == ("Queued", message)
    assert cluster.events == [Event("Warning", "Unschedulable", message)]
    found = wait_on(cluster)
    assert found is not None
    assert (found.status, found.reason, found.message) == ("True", "Unschedulable", message)


def test_one_of_several_is_named_and_so_is_a_launcher_that_shares_the_cause() -> None:
    cluster = submitted()
    wait(cluster, "pi-worker-1", reason="Unschedulable", message="full")
    assert cluster.status.explanation.startswith("pi-worker-1 cannot be scheduled: full; see")
    wait(cluster, "pi-worker-0", "pi-launcher", reason="Unschedulable", message="full")
    assert cluster.status.explanation.startswith("2 of 2 workers and pi-launcher cannot be scheduled: full")
    assert reasons(cluster) == ["Unschedulable"]


def test_a_message_that_names_a_command_is_left_alone() -> None:
    cluster = submitted()
    message = "no environment runs image gpu:1; create one: tide env create gpu --image 'gpu:*'"
    wait(cluster, "pi-worker-0", reason="ErrImagePull", message=message)
    assert cluster.status.explanation == f"pi-worker-0 cannot pull an image: {message}"


def test_other_numbers_are_no_other_cause() -> None:
    cluster = submitted()
    wait(cluster, "pi-worker-0", "pi-worker-1", reason="Unschedulable", message="0/3 nodes: 3 full")
    before = cluster.status
    wait(cluster, "pi-worker-0", "pi-worker-1", reason="Unschedulable", message="0/9 nodes: 9 full")
    assert cluster.status == before
    cluster.now += timedelta(minutes=2)
    cluster.reconcile()
    assert "0/9 nodes" in cluster.status.explanation
    wait(cluster, "pi-worker-0", reason="ContainerCreating")
    assert cluster.status.explanation.startswith("pi-worker-1 cannot be scheduled: 0/9")
    assert reasons(cluster) == ["Unschedulable"]


def test_another_cause_is_another_event() -> None:
    cluster = submitted()
    wait(cluster, "pi-worker-0", reason="Unschedulable", message="0/3 nodes: 3 full")
    wait(cluster, "pi-worker-0", reason="Unschedulable", message="0/3 nodes: 3 tainted")
    wait(cluster, "pi-worker-0", reason="CreateContainerConfigError", message='configmap "a" not found')
    assert reasons(cluster) == ["Unschedulable", "Unschedulable", "CreateContainerConfigError"]


def test_it_is_over_when_the_pods_start() -> None:
    cluster = submitted()
    wait(cluster, "pi-worker-0", reason="Unschedulable", message="full")
    cluster.change("pi-worker-0", waiting=None)
    cluster.settle()
    found = wait_on(cluster)
    assert found is not None
    assert (found.status, found.reason) == ("False", "Resolved")
    assert cluster.status.state == "Running"
    assert "Resolved" not in reasons(cluster)


@pytest.mark.parametrize("ends", ["finishes", "is suspended"])
def test_nothing_is_waited_for_when_the_job_is_over(ends: str) -> None:
    cluster = running(elastic(2))
    cluster.resize(3)
    cluster.reconcile()
    wait(cluster, "pi-worker-2", reason="Unschedulable", message="full")
    if ends == "finishes":
        cluster.succeed()
    else:
        cluster.policy(suspend=True)
    cluster.reconcile()
    found = wait_on(cluster)
    assert found is not None
    assert found.status == "False"
    assert cluster.status.workers == "0/3"


# Images


def test_pulls_that_alternate_between_two_reasons_are_one_cause() -> None:
    cluster = submitted()
    error = 'failed to pull image "gpu:1": not found'
    wait(cluster, "pi-worker-0", reason="ErrImagePull", message=error)
    told = cluster.status
    assert told.explanation == (
        f"pi-worker-0 cannot pull an image: {error}; see kubectl describe pod pi-worker-0 -n ns"
    )
    wait(
        cluster,
        "pi-worker-0",
        reason="ImagePullBackOff",
        message=f'Back-off pulling image "gpu:1": ErrImagePull: {error}',
    )
    wait(cluster, "pi-worker-0", reason="ImagePullBackOff", message='Back-off pulling image "gpu:1"')
    wait(cluster, "pi-worker-0", reason="ErrImagePull", message=error)
    assert cluster.status == told
    assert reasons(cluster) == ["ImagePullBackOff"]


def test_an_old_kubelet_that_never_said_why_is_repeated() -> None:
    cluster = submitted()
    wait(cluster, "pi-worker-0", reason="ImagePullBackOff", message='Back-off pulling image "gpu:1"')
    assert cluster.status.explanation.startswith(
        'pi-worker-0 cannot pull an image: Back-off pulling image "gpu:1"; see'
    )


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("InvalidImageName", 'couldn\'t parse image name "Gpu": must be lowercase'),
        ("CreateContainerConfigError", 'secret "key" not found'),
        ("RunContainerError", "exec: mpirum: not found"),
        ("CreateContainerError", ""),
    ],
)
def test_what_else_keeps_a_container_from_starting_is_said_in_the_kubelets_words(reason: str, message: str) -> None:
    cluster = submitted()
    wait(cluster, "pi-worker-0", reason=reason, message=message)
    said = f"{reason}: {message}" if message else reason
    text = f"pi-worker-0 cannot start: {said}; see kubectl describe pod pi-worker-0 -n ns"
    assert (cluster.status.state, cluster.status.explanation) == ("Queued", text)  # the other one has no node yet
    assert cluster.events == [Event("Warning", reason, text)]


def test_a_long_message_is_cut_and_the_command_stays() -> None:
    cluster = submitted()
    wait(cluster, "pi-worker-0", reason="CreateContainerConfigError", message="x" * 5000)
    assert len(cluster.status.explanation) < 1024
    assert cluster.status.explanation.endswith("…; see kubectl describe pod pi-worker-0 -n ns")


ADD = "tide node add gpu-1=nvidia.com/gpu:8 --cluster lab"
FULL = "0/9 nodes are available: " + "9 node(s) had untolerated taint {{dedicated: others}}, " * 20
LEAD = "; see kubectl describe pod pi-worker-0 -n ns"


@pytest.mark.parametrize("length", range(520, 640, 7))
def test_a_command_that_others_advise_is_never_cut(length: int) -> None:
    cluster = submitted()
    advice = f"{FULL[:length]}. Add one that does, to try it out: {ADD}"
    wait(cluster, "pi-worker-0", reason="Unschedulable", message=advice)
    assert cluster.status.explanation.endswith(f"Add one that does, to try it out: {ADD}")
    assert cluster.status.explanation.startswith("pi-worker-0 cannot be scheduled: 0/9 nodes are available")
    assert len(cluster.status.explanation) < 700


def test_a_command_in_a_long_sentence_stays_whole() -> None:
    cluster = submitted()
    wait(cluster, "pi-worker-0", reason="Unschedulable", message=f"{FULL} and so on: {ADD}; or wait")
    assert cluster.status.explanation.endswith(f"…: {ADD}")
    assert len(cluster.status.explanation) < 700


def test_a_command_that_is_too_long_is_left_out_and_the_lead_stays() -> None:
    cluster = submitted()
    wait(cluster, "pi-worker-0", reason="Unschedulable", message=f"full: tide node add {'x' * 2000}")
    assert cluster.status.explanation == f"pi-worker-0 cannot be scheduled: full:…{LEAD}"


def test_what_follows_a_command_is_cut_before_the_next() -> None:
    cluster = submitted()
    wait(cluster, "pi-worker-0", reason="Unschedulable", message=f"try: {ADD}; {'x' * 500}; {ADD}; {ADD}")
    assert cluster.status.explanation == f"pi-worker-0 cannot be scheduled: try: {ADD}; {'x' * 500};…."


# What is only in events


def creating(cluster: Cluster, name: str, **more: Any) -> None:
    wait(cluster, name, reason="ContainerCreating", since=cluster.now, **more)


def asked(cluster: Cluster) -> list[Inquire]:
    return [action for action in cluster.reconcile().actions if isinstance(action, Inquire)]


def test_a_pod_that_stays_in_creation_is_asked_about_after_ten_seconds() -> None:
    cluster = submitted()
    creating(cluster, "pi-worker-0")
    plan = cluster.reconcile()
    assert RequeueAfter(timedelta(seconds=10)) in plan.actions
    assert not asked(cluster)
    cluster.now += timedelta(seconds=10)
    assert asked(cluster) == [Inquire(Key("v1", "Pod", "pi-worker-0"), cluster.pods["pi-worker-0"].uid)]
    assert cluster.status.explanation == "pi-worker-0 has been waiting for volumes and network since 06:00:00 UTC."
    assert wait_on(cluster) is None
    assert cluster.events == []


def test_what_its_events_say_is_the_cause() -> None:
    cluster = submitted()
    creating(cluster, "pi-worker-0")
    cluster.now += timedelta(seconds=10)
    cluster.troubles = {cluster.pods["pi-worker-0"].uid: WarningEvent("FailedMount", MISSING)}
    assert asked(cluster), "it is asked again, because it may change"
    message = f"pi-worker-0 cannot start: FailedMount: {MISSING}; see kubectl describe pod pi-worker-0 -n ns"
    assert cluster.status.explanation == message
    assert cluster.events == [Event("Warning", "FailedMount", message)]
    creating(cluster, "pi-worker-1")
    cluster.now += timedelta(seconds=10)
    cluster.reconcile()
    assert cluster.status.explanation.startswith(
        "0 of 2 workers are ready; the launcher starts with at least 2. 2 of 2 workers"
    )
    assert reasons(cluster) == ["FailedMount"]


def test_a_pod_with_volumes_and_network_pulls_its_image_and_is_not_asked_about() -> None:
    cluster = submitted()
    creating(cluster, "pi-worker-0", sandbox=True)
    cluster.now += timedelta(minutes=5)
    cluster.troubles = {cluster.pods["pi-worker-0"].uid: WarningEvent("FailedMount", "some time ago")}
    assert not asked(cluster)
    assert cluster.status.explanation == (
        "pi-worker-0 has been pulling images or creating containers since 06:00:00 UTC."
    )
    assert cluster.events == []


def test_a_launchers_job_that_has_no_pod_is_asked_about() -> None:
    cluster = submitted(version="v2beta1")
    assert cluster.batch is not None
    cluster.batch = LauncherJob(cluster.batch.uid, started=cluster.now)
    assert not asked(cluster)
    cluster.now += timedelta(seconds=10)
    assert asked(cluster) == [Inquire(Key("batch/v1", "Job", "pi-launcher"), cluster.batch.uid)]
    quota = (
        'Error creating: pods "pi-launcher-x7" is forbidden: exceeded quota: small, requested: pods=1, limited: pods=2'
    )
    cluster.troubles = {cluster.batch.uid: WarningEvent("FailedCreate", quota)}
    cluster.reconcile()
    message = f"The launcher's pod cannot be created: {quota}; see kubectl describe quota -n ns"
    assert cluster.events == [Event("Warning", "QuotaExceeded", message)]


# Crash loops


def crash(cluster: Cluster, name: str = "pi-worker-0", code: int = 1, last: str = "no key file") -> None:
    wait(cluster, name, reason="CrashLoopBackOff", message="back-off 10s restarting", exit=Exit(code, "Error", last))


def run_again(cluster: Cluster, code: int = 1) -> None:
    wait(cluster, "pi-worker-0", reason="CrashLoopBackOff", exit=Exit(code, "Error", "x"), restarted=cluster.now)


def test_a_crash_loop_is_told_with_its_exit_code_and_last_lines() -> None:
    cluster = submitted()
    crash(cluster, last="loading\nno key file")
    message = (
        "Container main of pi-worker-0 keeps crashing: it exited with code 1: loading\nno key file; "
        "see kubectl logs pi-worker-0 -c main --previous -n ns"
    )
    assert cluster.status.explanation == message
    assert cluster.events == [Event("Warning", "CrashLoopBackOff", message)]
    crash(cluster, "pi-worker-1")
    assert "keeps crashing, and so does that of another pod: it exited" in cluster.status.explanation


def test_it_goes_on_while_the_container_runs_for_a_moment() -> None:
    cluster = submitted()
    crash(cluster)
    run_again(cluster)
    crash(cluster, last="another line")
    run_again(cluster)
    assert cluster.conditions["Waiting"] == "True"
    assert reasons(cluster) == ["CrashLoopBackOff"]
    cluster.now += timedelta(minutes=1)
    cluster.reconcile()
    assert cluster.conditions["Waiting"] == "False"


def test_a_launcher_that_runs_beside_crashing_workers_says_so() -> None:
    cluster = running(Cluster(an_mpijob(workers=2, command=("mpirun", "-np", "2", "pi"))))
    cluster.change("pi-worker-0", ready=False)
    crash(cluster)
    assert cluster.status.state == "Running"
    assert cluster.status.explanation.startswith(
        "The job runs with 1 of 2 workers. Container main of pi-worker-0 keeps crashing"
    )


def test_one_restart_is_no_crash_loop() -> None:
    cluster = submitted()
    run_again(cluster)
    assert wait_on(cluster) is None


# Deliberate ones


def test_gates_are_a_wait_and_no_warning() -> None:
    cluster = submitted()
    message = "Scheduling is blocked due to non-empty scheduling gates"
    wait(cluster, "pi-worker-0", "pi-worker-1", reason="SchedulingGated", message=message)
    assert cluster.status.explanation == (
        f"2 of 2 workers cannot be scheduled before all gates are removed: {message}; "
        "see kubectl describe pod pi-worker-0 -n ns"
    )
    assert cluster.events == []


def test_of_two_causes_the_schedulers_is_told() -> None:
    cluster = submitted()
    wait(cluster, "pi-worker-0", reason="ImagePullBackOff", message="no such image")
    wait(cluster, "pi-worker-1", reason="Unschedulable", message="full")
    assert reasons(cluster) == ["ImagePullBackOff", "Unschedulable"]
    assert "pi-worker-1 cannot be scheduled" in cluster.status.explanation


# While it trains


def test_a_job_that_grows_says_why_it_does_not_get_there() -> None:
    cluster = running(elastic(2))
    cluster.resize(3)
    cluster.reconcile()
    wait(cluster, "pi-worker-2", reason="Unschedulable", message="full")
    assert (cluster.status.state, cluster.status.workers) == ("Scaling out", "2/3")
    assert cluster.status.explanation == (
        "2 of 3 workers are in the host list. pi-worker-2 cannot be scheduled: full; "
        "see kubectl describe pod pi-worker-2 -n ns"
    )


def test_kinds_without_a_launcher_say_it_too() -> None:
    cluster = a_toy(workers=2)
    cluster.reconcile()
    cluster.reconcile()
    cluster.events.clear()
    wait(cluster, "toy-master-0", reason="ImagePullBackOff", message="no such image")
    assert cluster.status.explanation.startswith("toy-master-0 cannot pull an image: no such image; see")
    assert reasons(cluster) == ["ImagePullBackOff"]


# Refusals


def test_a_refusal_stands_until_the_pod_exists() -> None:
    cause = wait_causes.refused("ns", "A worker pod", 'pods "pi-worker-2" is forbidden: exceeded quota: small')
    cluster = running(elastic(2))
    cluster.resize(3)
    refused = wait_causes.told(cluster.status.conditions, cause, cluster.now)
    cluster.status = replace(cluster.status, conditions=refused)
    plan = cluster.plan()
    assert plan.status.explanation.startswith("2 of 3 workers are in the host list. A worker pod cannot be created")
    cluster.reconcile()
    cluster.reconcile()
    assert cluster.conditions["Waiting"] == "False"
    assert reasons(cluster) == ["ScalingOut"]
