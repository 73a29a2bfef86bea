# SPDX-License-Identifier: Apache-2.0
"""Why a job does not run, or not as it is asked to: each cause by its objects, its sentence and the next command."""

from __future__ import annotations

import pytest
from tests.unit.views.explaining.objects import a_job, a_node, a_pod, an_event, condition, evidence

from springtide.messages import Language, shown
from springtide.views.explaining import Evidence, explained

GPU = {"nvidia.com/gpu": "8"}
NO_GPU = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
TAINTED = "0/2 nodes are available: 2 node(s) had untolerated taint(s)."
TAINT = {"key": "team", "value": "vision", "effect": "NoSchedule"}
GANG = "2/4 tasks in gang unschedulable: pod group is not ready, 4 Pending, 4 minAvailable; Pending: 2 Unschedulable"
QUOTA = (
    'A worker pod cannot be created: pods "pi-worker-2" is forbidden: exceeded quota: small, requested: pods=1, used: '
    "pods=2, limited: pods=2; see kubectl describe quota -n ns"
)
WITH_CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
UNBOUND = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."
PENDING = {"metadata": {"name": "data", "uid": "c"}, "spec": {}, "status": {"phase": "Pending"}}
CRASHED = {"reason": "CrashLoopBackOff", "message": "back-off 10s"}
BOUNDED = "9 workers are requested, 4 run: must be between 1 and 4, as spec.elasticPolicy says"
TOO_MANY = "20000 workers are requested, at most 10000 are allowed: the job is not started; the operator runs no larger"
KEPT = "2 workers train, 1 is requested: mpirun is not elastic, so the new size counts from the launcher's next start"
EARLIER = "The job waits until objects of an earlier MPIJob of the same name are deleted: Pod pi-worker-0"
LOST = "pi-worker-0 was lost with node two; a replacement is created"

CAUSES: dict[str, tuple[Evidence, str, str, str]] = {
    "no node has such a GPU": (
        evidence(
            a_job(),
            a_pod(unscheduled=NO_GPU, requests=GPU),
            a_pod("pi-worker-1", unscheduled=NO_GPU, requests=GPU),
            a_pod("pi-worker-2", unscheduled=NO_GPU, requests=GPU),
            nodes=[a_node(), a_node("two")],
        ),
        "NoSuchResource",
        "Job pi is queued: no node of the cluster offers nvidia.com/gpu; pi-worker-0 and 2 more pods request 8 each.",
        "kubectl describe nodes",
    ),
    "nodes with GPUs are too small": (
        evidence(
            a_job(), a_pod(unscheduled=NO_GPU, requests=GPU), nodes=[a_node(), a_node("two", nvidia_com__gpu="4")]
        ),
        "TooLarge",
        "Job pi is queued: pi-worker-0 requests 8 nvidia.com/gpu, and the largest node, two, has 4 in all.",
        "tide top node",
    ),
    "the only node with GPUs is tainted, the other has none": (
        evidence(
            a_job(),
            a_pod(
                unscheduled="0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 had untolerated taint(s).",
                requests=GPU,
            ),
            nodes=[a_node(), a_node("two", taints=[TAINT], nvidia_com__gpu="8")],
        ),
        "Taint",
        "Job pi is queued: node two has the taint team=vision:NoSchedule, which pi-worker-0 does not tolerate.",
        "kubectl taint node two team:NoSchedule-",
    ),
    "all nodes are tainted": (
        evidence(a_job(), a_pod(unscheduled=TAINTED), nodes=[a_node(taints=[TAINT]), a_node("two", taints=[TAINT])]),
        "Taint",
        "Job pi is queued: 2 nodes have taints such as team=vision:NoSchedule, which pi-worker-0 does not tolerate.",
        "kubectl taint node one team:NoSchedule-",
    ),
    "nodes that this user may not read have taints": (
        evidence(a_job(), a_pod(unscheduled=TAINTED)),
        "Taint",
        "Job pi is queued: pi-worker-0 tolerates no taint of the nodes.",
        "kubectl describe nodes",
    ),
    "others use all GPUs": (
        evidence(
            a_job(),
            a_pod(unscheduled=NO_GPU, requests=GPU),
            nodes=[a_node(nvidia_com__gpu="8")],
            neighbours=[a_pod("bert-worker-0", requests=GPU)],
        ),
        "InUse",
        "Job pi is queued: no node has 8 nvidia.com/gpu free, which pi-worker-0 requests.",
        "tide top node",
    ),
    "there are no nodes": (
        evidence(a_job(), a_pod(unscheduled="no nodes available to schedule pods"), nodes=[]),
        "NoNodes",
        "Job pi is queued: the cluster has no nodes.",
        "kubectl get nodes",
    ),
    "a gang does not fit": (
        evidence(a_job(), a_pod(unscheduled=GANG), a_pod("pi-worker-1", unscheduled=GANG), nodes=[a_node()]),
        "Gang",
        "Job pi is queued: its pods start as a gang of 4, and the nodes have no room for 4 of them at the same time.",
        "kubectl describe podgroup pi -n ns",
    ),
    "the scheduler says something else": (
        evidence(
            a_job(), a_pod(unscheduled="0/1 nodes are available: 1 node(s) didn't have free ports."), nodes=[a_node()]
        ),
        "Unschedulable",
        "Job pi is queued: no node takes pi-worker-0: 0/1 nodes are available: 1 node(s) didn't have free ports.",
        "kubectl describe pod pi-worker-0 -n ns",
    ),
    "a quota": (
        evidence(a_job("Starting", condition("Waiting", "QuotaExceeded", QUOTA)), a_pod()),
        "Quota",
        "Job pi cannot start yet: quota small of namespace ns allows pods=2; pods=2 is in use, and a pod needs pods=1 "
        "more.",
        "kubectl describe quota small -n ns",
    ),
    "a quota that demands requests": (
        evidence(
            a_job(
                "Created",
                condition(
                    "Waiting", "QuotaExceeded", "A worker pod cannot be created: failed quota: small: must specify cpu"
                ),
            )
        ),
        "Quota",
        "Job pi has no pods yet: quota small of namespace ns demands that pods specify cpu.",
        "kubectl describe quota small -n ns",
    ),
    "a claim without a default class": (
        evidence(
            a_job(),
            a_pod(unscheduled=UNBOUND, spec=WITH_CLAIM),
            claims={"data": PENDING},
            storage_classes=[],
            nodes=[a_node()],
        ),
        "UnboundClaim",
        "Job pi is queued: volume claim data of pi-worker-0 is not bound: it names no storage class, and the cluster "
        "has no default one.",
        "kubectl describe pvc data -n ns",
    ),
    "a claim whose events say why": (
        evidence(
            a_job(),
            a_pod(unscheduled=UNBOUND, spec=WITH_CLAIM),
            claims={"data": PENDING},
            events=[an_event("data", "ProvisioningFailed", "disk is full", kind="PersistentVolumeClaim")],
        ),
        "UnboundClaim",
        "Job pi is queued: volume claim data of pi-worker-0 is not bound: disk is full.",
        "kubectl describe pvc data -n ns",
    ),
    "a volume that cannot be mounted": (
        evidence(
            a_job("Starting"),
            a_pod(ready=False, waiting={"reason": "ContainerCreating"}),
            events=[an_event("pi-worker-0", "FailedMount", 'configmap "data" not found')],
        ),
        "FailedMount",
        'Job pi cannot start yet: a volume of pi-worker-0 cannot be mounted: configmap "data" not found.',
        "kubectl describe pod pi-worker-0 -n ns",
    ),
    "an image that a registry does not have": (
        evidence(
            a_job("Starting"),
            a_pod(ready=False, waiting={"reason": "ImagePullBackOff", "message": 'Back-off pulling image "train:1"'}),
            events=[an_event("pi-worker-0", "Failed", 'Failed to pull image "train:1": not found')],
        ),
        "Image",
        "Job pi cannot start yet: image train:1 of pi-worker-0 cannot be pulled: "
        'Failed to pull image "train:1": not found.',
        "kubectl describe pod pi-worker-0 -n ns",
    ),
    "a secret that does not exist": (
        evidence(
            a_job("Starting"),
            a_pod(ready=False, waiting={"reason": "CreateContainerConfigError", "message": 'secret "key" not found'}),
        ),
        "CreateContainerConfigError",
        'Job pi cannot start yet: container main of pi-worker-0 cannot start: secret "key" not found.',
        "kubectl describe pod pi-worker-0 -n ns",
    ),
    "a container that runs out of memory": (
        evidence(
            a_job("Restarting"),
            a_pod(
                ready=False,
                waiting=CRASHED,
                restarts=3,
                last={"exitCode": 137, "reason": "OOMKilled"},
                requests={"memory": "1Gi"},
            ),
        ),
        "CrashLoop",
        "Job pi is restarting: container main of pi-worker-0 keeps crashing: it used more memory than its limit of 1Gi "
        "(OOMKilled).",
        "kubectl logs pi-worker-0 -c main --previous -n ns",
    ),
    "a container that a signal ends": (
        evidence(
            a_job("Running", workers="1/2"),
            a_pod(ready=False, waiting=CRASHED, restarts=3, last={"exitCode": 139, "reason": "Error"}),
        ),
        "CrashLoop",
        "Job pi runs with 1/2 workers: container main of pi-worker-0 keeps crashing: it was ended by signal SIGSEGV, "
        "exit code 139.",
        "kubectl logs pi-worker-0 -c main --previous -n ns",
    ),
    "a node that does not respond": (
        evidence(
            a_job("Running", workers="1/2"), a_pod(node="two", ready=False), nodes=[a_node("two", ready="Unknown")]
        ),
        "NodeLost",
        "Job pi runs with 1/2 workers: node two, on which pi-worker-0 runs, has not responded since 05:59:00 UTC.",
        "kubectl describe node two",
    ),
    "a node that was removed": (
        evidence(a_job("Running", workers="1/2"), a_pod(node="two", ready=False), nodes=[a_node()]),
        "NodeLost",
        "Job pi runs with 1/2 workers: node two, on which pi-worker-0 ran, no longer exists.",
        "kubectl get nodes",
    ),
    "a worker was lost with its node, and its replacement fits nowhere": (
        evidence(
            a_job("Running", workers="1/2"),
            a_pod("pi-worker-2", unscheduled=NO_GPU, requests=GPU),
            nodes=[a_node()],
            events=[an_event("pi", "WorkerReplaced", LOST, "Normal", "MPIJob")],
        ),
        "NodeLost",
        "Job pi runs with 1/2 workers: pi-worker-0 was lost with node two, and no other node takes pi-worker-2.",
        "kubectl get nodes",
    ),
    "a size out of bounds": (
        evidence(
            a_job("Running", condition("SizeOutOfBounds", "", BOUNDED), workers="4/4", minReplicas=1, maxReplicas=4)
        ),
        "Bounds",
        "Job pi runs with 4/4 workers: 9 workers are requested, and its bounds allow 1 to 4.",
        "tide scale pi --workers 4 -n ns",
    ),
    "more workers than the operator runs": (
        evidence(a_job("Created", condition("TooManyWorkers", "", TOO_MANY))),
        "Limited",
        "Job pi has no pods yet: 20000 workers requested, and the operator runs at most 10000 in a job.",
        "tide scale pi --workers 10000 -n ns",
    ),
    "a size that is deferred": (
        evidence(a_job("Running", condition("SizeDeferred", "LauncherNotElastic", KEPT), workers="2/1")),
        "SizeDeferred",
        f"Job pi runs with 2/1 workers: the new size counts from the next start: {KEPT}.",
        "tide restart pi -n ns",
    ),
    "an earlier job of the same name": (
        evidence(a_job("Created", condition("NameTaken", "EarlierJobRemains", EARLIER))),
        "EarlierJobRemains",
        "Job pi has no pods yet: objects of an earlier job of this name still exist, and the job starts when they are "
        "gone.",
        "tide get pi -n ns -w",
    ),
    "a job that is not valid": (
        evidence(
            a_job("Created", condition("Invalid", "ValidationError", "Found validation errors: spec.x: Required"))
        ),
        "Invalid",
        "Job pi has no pods yet: it is not valid: Found validation errors: spec.x: Required.",
        "kubectl edit mpijob/pi -n ns",
    ),
}


@pytest.mark.parametrize("sentence", CAUSES)
def test_a_cause(sentence: str) -> None:
    given, cause, message, command = CAUSES[sentence]
    found = explained(given)
    assert (found.cause, found.command) == (cause, command)
    assert shown(found.sentence, Language.ENGLISH) == message
    assert found.evidence
    assert all("\n" not in str(fact.said) for fact in found.evidence)


@pytest.mark.parametrize("sentence", CAUSES)
def test_it_is_explained_in_chinese_too(sentence: str) -> None:
    said = shown(explained(CAUSES[sentence][0]).sentence, Language.CHINESE)
    assert said.startswith("任务 pi ")
    assert said.endswith("。")


def test_other_causes_follow_the_first() -> None:
    job = a_job("Running", condition("SizeOutOfBounds", "", BOUNDED), workers="3/4", minReplicas=1, maxReplicas=4)
    found = explained(evidence(job, a_pod(unscheduled=NO_GPU, requests=GPU), nodes=[a_node()]))
    assert found.cause == "NoSuchResource"
    assert [shown(each, Language.ENGLISH) for each in found.also] == [
        "Also: 9 workers are requested, and its bounds allow 1 to 4."
    ]


def test_who_holds_the_gpus_is_evidence() -> None:
    given = CAUSES["others use all GPUs"][0]
    said = [fact.said for fact in explained(given).evidence if fact.object == "pod/bert-worker-0"]
    assert [shown(each, Language.ENGLISH) for each in said if not isinstance(each, str)] == [
        "holds 8 nvidia.com/gpu on node one (namespace ns)"
    ]


def test_control_characters_of_messages_are_not_shown() -> None:
    hostile = {"reason": "CreateContainerError", "message": "\x1b[2Jfine\nWarning all is lost\u202e"}
    found = explained(evidence(a_job("Starting"), a_pod(ready=False, waiting=hostile)))
    assert shown(found.sentence, Language.ENGLISH).isprintable()
    assert all(str(fact.said).isprintable() for fact in found.evidence)


@pytest.mark.parametrize("name", ["data; curl evil | sh", "$(touch x)", "`id`", "a\nb", "'", "a&b", "~/x", "*"])
def test_the_next_command_has_nothing_that_a_shell_would_run(name: str) -> None:
    """API servers check the names of objects, but not all names that objects mention, such as those of claims."""
    mentioned = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]}
    pod = a_pod(unscheduled=UNBOUND, spec=mentioned)
    found = explained(evidence(a_job(), pod, claims={name: PENDING | {"metadata": {"name": name, "uid": "c"}}}))
    assert found.command == "tide get -e -n ns -- pi"


@pytest.mark.parametrize(
    ("advised", "shown_command"),
    [
        ("tide env create train --image 'example.com/train:1.0'", True),
        ("tide env create train --image 'a'; id; ''", False),
        ("tide env create train --image '$(id)'$(id)", False),
    ],
)
def test_what_stands_in_single_quotes_is_no_more_than_a_word(advised: str, shown_command: bool) -> None:
    said = "images are not pulled here, no environment stands in for this one. Make one, and the pod starts by itself"
    missing = {"reason": "ErrImagePull", "message": f"{said}: {advised}"}
    found = explained(evidence(a_job("Starting"), a_pod(ready=False, waiting=missing)))
    assert (found.command == advised) is shown_command
