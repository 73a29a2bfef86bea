# SPDX-License-Identifier: Apache-2.0
"""Every object of a TrainingJob, row by row: what it is called and what is in it."""

from __future__ import annotations

import base64
from typing import Any, Final

import pytest
from tests.unit.api.builders import a_template
from tests.unit.jobs.builders import ELASTIC, elastic_training, running
from tests.unit.jobs.kinds.mpi.test_table_of_objects import at

from springtide.api.kinds.et_parts import parts_of
from springtide.jobs.observed import Settings
from springtide.jobs.parts import ssh

FIRST: Final = "spec/containers/0"
GROUP: Final = "kai.alibabacloud.com"
EXEC: Final = {"launcherAttachMode": "kubexec"}
KUBECTL: Final = Settings(kubectl_image="kubectl:1")
LABELLED: Final = {"metadata": {"labels": {"app": "etjob", "group-name": "mine"}, "annotations": {"note": "kept"}}}
MANY: Final = {"spec": {"containers": [{"name": "main", "image": "a"}, {"name": "beside", "image": "b"}]}}
WAITS: Final = {"spec": {**a_template("train")["spec"], "initContainers": [{"name": "own", "image": "a"}]}}
Row = tuple[dict[str, Any], str, str, Any]


def made(settings: Settings = Settings(), **spec: Any) -> dict[str, dict[str, Any]]:  # noqa: B008
    """Everything there is while the job runs, by kind and name."""
    cluster = elastic_training(**spec)
    cluster.settings = settings
    running(cluster)
    found = {f"{key.kind} {key.name}": body for key, body in cluster.objects.items()}
    return found | {f"Pod {name}": dict(manifest) for name, manifest in cluster.manifests.items()}


def user(number: int | None, template: dict[str, Any] | None = None, **pod: Any) -> dict[str, Any]:
    """A role whose first container runs as this user."""
    spec = dict((template or a_template("train"))["spec"])
    if number is not None:
        first = {**spec["containers"][0], "securityContext": {"runAsUser": number}}
        spec["containers"] = [first, *spec["containers"][1:]]
    return {"template": {"spec": {**spec, "securityContext": pod}}}


NAMES: Final[dict[str, Row]] = {
    "a worker is in et-operator's group": ({}, "Pod train-worker-0", "metadata/labels/group-name", GROUP),
    "a worker names its job": ({}, "Pod train-worker-0", "metadata/labels/training-job-name", "train"),
    "a worker says that it is one": ({}, "Pod train-worker-0", "metadata/labels/training-job-role", "worker"),
    "a worker knows its index": ({}, "Pod train-worker-1", "metadata/labels/replica-index", "1"),
    "our own labels": ({}, "Pod train-worker-1", "metadata/labels/springtide.dev~job", "train"),
    "our own kind": ({}, "Pod train-worker-1", "metadata/labels/springtide.dev~kind", "TrainingJob"),
    "the launcher is in the group, too": ({}, "Pod train-launcher", "metadata/labels/group-name", GROUP),
    "the launcher names its job": ({}, "Pod train-launcher", "metadata/labels/training-job-name", "train"),
    "the launcher says that it is one": ({}, "Pod train-launcher", "metadata/labels/training-job-role", "launcher"),
    "the launcher has no index": ({}, "Pod train-launcher", "metadata/labels/replica-index", None),
    "labels of a template are kept": (
        *({"worker": {"template": a_template() | LABELLED}}, "Pod train-worker-0"),
        *("metadata/labels/app", "etjob"),
    ),
    "labels of et-operator win over those of a template": (
        *({"worker": {"template": a_template() | LABELLED}}, "Pod train-worker-0"),
        *("metadata/labels/group-name", GROUP),
    ),
    "annotations of a template are copied": (
        *({"launcher": {"template": a_template() | LABELLED}}, "Pod train-launcher"),
        *("metadata/annotations/note", "kept"),
    ),
    "a worker is not restarted": (
        *({"worker": {"restartPolicy": "Always"}}, "Pod train-worker-0", "spec/restartPolicy"),
        "Never",
    ),
    "a launcher is not restarted": (
        *({"launcher": {"restartPolicy": "Always"}}, "Pod train-launcher", "spec/restartPolicy"),
        "Never",
    ),
}

SERVICES: Final[dict[str, Row]] = {
    "each worker has a headless Service of its name": ({}, "Service train-worker-1", "spec/clusterIP", "None"),
    "a Service has both ports": (
        *({}, "Service train-worker-1", "spec/ports"),
        [{"name": "ssh-port", "port": 22}, {"name": "kubeai-service-port", "port": 9009}],
    ),
    "a Service selects by its own four labels": (
        *({}, "Service train-worker-1", "spec/selector"),
        {
            "group-name": GROUP,
            "training-job-name": "train",
            "training-job-role": "worker",
            "replica-index": "1",
        },
    ),
    "a Service has these labels itself": ({}, "Service train-worker-1", "metadata/labels/replica-index", "1"),
    "a name is not lost while its worker is briefly not ready": (
        *({}, "Service train-worker-1", "spec/publishNotReadyAddresses"),
        True,
    ),
    "workers have Services in kubexec mode, too": (EXEC, "Service train-worker-1", "spec/clusterIP", "None"),
}

HOSTS: Final = "train-worker-0:2\ntrain-worker-1:2\n"
TWO: Final = {"slotsPerWorker": 2}
GPUS: Final = {"template": a_template(resources={"limits": {"nvidia.com/gpu": "8"}})}
FILES: Final[dict[str, Row]] = {
    "the hostfile": (TWO, "ConfigMap train-config", "data/hostfile", HOSTS),
    "DeepSpeed's hostfile": (
        *(TWO, "ConfigMap train-config", "data/deepspeed-hostfile"),
        "train-worker-0 slots=2\ntrain-worker-1 slots=2\n",
    ),
    "discover_hosts.sh": (
        *(TWO, "ConfigMap train-config", "data/discover_hosts.sh"),
        "#!/bin/sh\necho train-worker-0:2\necho train-worker-1:2\n",
    ),
    "slots are the GPUs of a worker": (
        *({"worker": GPUS, "workers": 1}, "ConfigMap train-config", "data/hostfile"),
        "train-worker-0:8\n",
    ),
    "the slots of the spec win over the GPUs": (
        *({"worker": GPUS, "workers": 1, **TWO}, "ConfigMap train-config", "data/hostfile"),
        "train-worker-0:2\n",
    ),
    "a worker without GPUs has one slot": (
        *({"workers": 1}, "ConfigMap train-config", "data/hostfile"),
        "train-worker-0:1\n",
    ),
    "the ConfigMap has et-operator's label": ({}, "ConfigMap train-config", "metadata/labels/app", "train"),
    "all files are in /etc/mpi": (
        *({}, "Pod train-launcher", f"{FIRST}/volumeMounts/training-job-config/mountPath"),
        "/etc/mpi",
    ),
    "the list is in /etc/edl": (
        *({}, "Pod train-launcher", f"{FIRST}/volumeMounts/training-job-hostfile/mountPath"),
        "/etc/edl",
    ),
    "the list is live there: no copy, and no mount of a single file": (
        *({}, "Pod train-launcher", "spec/volumes/training-job-hostfile/configMap"),
        {
            "name": "train-config",
            "items": [
                {"key": "hostfile", "path": "hostfile", "mode": 0o444},
                {"key": "discover_hosts.sh", "path": "discover_hosts.sh", "mode": 0o555},
            ],
        },
    ),
    "it is no subPath, which would never change": (
        *({}, "Pod train-launcher", f"{FIRST}/volumeMounts/training-job-hostfile/subPath"),
        None,
    ),
    "DeepSpeed's hostfile is in /job": (
        *({}, "Pod train-launcher", f"{FIRST}/volumeMounts/deepspeed-hostfile/mountPath"),
        "/job",
    ),
    "DeepSpeed's hostfile has the name that DeepSpeed expects": (
        *({}, "Pod train-launcher", "spec/volumes/deepspeed-hostfile/configMap/items"),
        [{"key": "deepspeed-hostfile", "path": "hostfile", "mode": 0o444}],
    ),
    "an init container waits for the list": (
        *({}, "Pod train-launcher", "spec/initContainers/init-hostfile/command"),
        ["/bin/sh", "-c", 'until /etc/mpi/hosts_given.sh "$POD_UID"; do sleep 1; done'],
    ),
    "it comes after the user's": (
        *({"launcher": {"template": WAITS}}, "Pod train-launcher", "spec/initContainers/1/name"),
        "init-hostfile",
    ),
    "it asks for nothing beyond what the launcher asks for": (
        *({}, "Pod train-launcher", "spec/initContainers/init-hostfile/resources"),
        None,
    ),
    "in kubexec mode a worker has the file that Open MPI's daemon checks for": (
        *(EXEC, "Pod train-worker-0", "spec/volumes/training-job-config/configMap/items"),
        [{"key": "kubexec.sh", "path": "kubexec.sh", "mode": 0o555}],
    ),
    "it is where the launcher has it": (
        *(EXEC, "Pod train-worker-0", f"{FIRST}/volumeMounts/training-job-config/mountPath"),
        "/etc/mpi",
    ),
    "a worker has no host list": ({}, "Pod train-worker-0", "spec/volumes/training-job-config", None),
}

AGENT: Final = "/etc/mpi/kubexec.sh"
ACCESS: Final[dict[str, Row]] = {
    "in kubexec mode ranks are started by kubexec.sh": (
        *(EXEC, "Pod train-launcher", f"{FIRST}/env/OMPI_MCA_plm_rsh_agent/value"),
        AGENT,
    ),
    "Open MPI 5 knows it by another name": (
        *(EXEC, "Pod train-launcher", f"{FIRST}/env/PRTE_MCA_plm_ssh_agent/value"),
        AGENT,
    ),
    "mpirun that names no hosts uses the workers": (
        *({}, "Pod train-launcher", f"{FIRST}/env/OMPI_MCA_orte_default_hostfile/value"),
        "/job/hostfile",
    ),
    "so does that of Open MPI 5, and in kubexec mode": (
        *(EXEC, "Pod train-launcher", f"{FIRST}/env/PRTE_MCA_prte_default_hostfile/value"),
        "/job/hostfile",
    ),
    "over SSH there is no agent": (
        *({"command": ELASTIC}, "Pod train-launcher", f"{FIRST}/env/OMPI_MCA_plm_rsh_agent"),
        None,
    ),
    "the launcher's account": (EXEC, "Pod train-launcher", "spec/serviceAccountName", "train-launcher"),
    "the account has et-operator's label": (EXEC, "ServiceAccount train-launcher", "metadata/labels/app", "train"),
    "the Role reaches the job's workers alone": (
        *(EXEC, "Role train-launcher", "rules/1"),
        {
            "apiGroups": [""],
            "resources": ["pods/exec"],
            "verbs": ["get", "create"],
            "resourceNames": ["train-worker-0", "train-worker-1"],
        },
    ),
    "over SSH the Role lets the launcher report its progress and run nothing": (
        *({}, "Role train-launcher", "rules"),
        [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"], "resourceNames": ["train-launcher"]},
        ],
    ),
    "the RoleBinding binds account and Role": (
        *(EXEC, "RoleBinding train-launcher", "roleRef/name"),
        "train-launcher",
    ),
    "there are no keys in kubexec mode": (EXEC, "Pod train-launcher", "spec/volumes/train", None),
    "a worker sleeps in kubexec mode": (EXEC, "Pod train-worker-0", f"{FIRST}/command", ["sh", "-c", "sleep 365d"]),
    "a worker that sleeps is not probed": (EXEC, "Pod train-worker-0", f"{FIRST}/startupProbe", None),
    "a worker's own command is kept": (
        *({"worker": {"template": a_template("serve")}}, "Pod train-worker-0", f"{FIRST}/command"),
        ["serve"],
    ),
    "a worker's own command is not probed": (
        *({"worker": {"template": a_template("serve")}}, "Pod train-worker-0", f"{FIRST}/startupProbe"),
        None,
    ),
    "a worker that runs sshd is ready once it accepts connections": (
        *({}, "Pod train-worker-0", f"{FIRST}/startupProbe/tcpSocket"),
        {"port": 22},
    ),
}

ITEMS: Final = [
    {"key": "id_rsa", "path": ".ssh/id_rsa"},
    {"key": "id_rsa.pub", "path": ".ssh/id_rsa.pub"},
    {"key": "id_rsa.pub", "path": ".ssh/authorized_keys"},
    {"key": "config", "path": ".ssh/config"},
]
MOUNT: Final = {"name": "train", "mountPath": "/root/.ssh", "subPath": ".ssh"}
ANOTHER: Final = {"annotations": {"arena.kubeflow.org/ssh-secret": "ours"}}
READABLE: Final = {"name": "training-job-ssh", "mountPath": "/etc/springtide/ssh"}
CLIENT: Final = {"name": "training-job-config", "mountPath": "/etc/ssh/ssh_config", "subPath": "ssh_config"}
OWN_CLIENT: Final = a_template("train", volumeMounts=[{"name": "x", "mountPath": "/etc/ssh/ssh_config"}])
SSH: Final[dict[str, Row]] = {
    "the Secret has the job's name": ({}, "Secret train", "type", "Opaque"),
    "keys come from it": (
        *({}, "Pod train-worker-0", "spec/volumes/train/secret"),
        {"secretName": "train", "items": ITEMS, "defaultMode": 0o600},
    ),
    "a worker has them in root's home": ({}, "Pod train-worker-0", f"{FIRST}/volumeMounts/train", MOUNT),
    "a launcher has them there, too": ({}, "Pod train-launcher", f"{FIRST}/volumeMounts/train", MOUNT),
    "every container of a worker has them": (
        *({"worker": {"template": MANY}}, "Pod train-worker-0", "spec/containers/1/volumeMounts/train"),
        MOUNT,
    ),
    "every container of a launcher has them": (
        *({"launcher": {"template": MANY}}, "Pod train-launcher", "spec/containers/1/volumeMounts/train"),
        MOUNT,
    ),
    "a Secret that the annotation names is mounted instead": (
        *(ANOTHER, "Pod train-worker-0", "spec/volumes/ours/secret/secretName"),
        "ours",
    ),
    "root by its number": (
        *({"launcher": user(0, runAsUser=1000)}, "Pod train-launcher", f"{FIRST}/volumeMounts/train"),
        MOUNT,
    ),
    "another user does not have root's keys": (
        *({"launcher": user(1000)}, "Pod train-launcher", f"{FIRST}/volumeMounts/train"),
        None,
    ),
    "another user has keys that all can read": (
        *({"launcher": user(1000)}, "Pod train-launcher", f"{FIRST}/volumeMounts/training-job-ssh"),
        READABLE,
    ),
    "which every user may read": (
        *({"launcher": user(1000)}, "Pod train-launcher", "spec/volumes/training-job-ssh/secret/defaultMode"),
        0o444,
    ),
    "or the pod's group": (
        *({"launcher": user(1000, fsGroup=7)}, "Pod train-launcher"),
        *("spec/volumes/training-job-ssh/secret/defaultMode", 0o440),
    ),
    "ssh finds them by its machine-wide configuration": (
        *({"launcher": user(1000)}, "Pod train-launcher", f"{FIRST}/volumeMounts/3"),
        READABLE,
    ),
    "which is a file of the ConfigMap": (
        *({"launcher": user(1000)}, "Pod train-launcher", f"{FIRST}/volumeMounts/4"),
        CLIENT,
    ),
    "unless the user mounts one": (
        *({"launcher": user(1000, OWN_CLIENT)}, "Pod train-launcher", f"{FIRST}/volumeMounts/5"),
        None,
    ),
    "pdsh does not log in as the local user": (
        *({"launcher": user(1000)}, "Pod train-launcher", f"{FIRST}/env/PDSH_SSH_ARGS/value"),
        "-2 -a -x %h",
    ),
    "the user's arguments for pdsh are kept": (
        *({"launcher": user(1000, a_template("train", env=[{"name": "PDSH_SSH_ARGS", "value": "-v"}]))},),
        *("Pod train-launcher", f"{FIRST}/env/PDSH_SSH_ARGS/value", "-v"),
    ),
    "the pod's user counts as the container's": (
        *({"launcher": user(None, runAsUser=1000)}, "Pod train-launcher", f"{FIRST}/volumeMounts/training-job-ssh"),
        READABLE,
    ),
    "a user that must not be root is not": (
        *({"launcher": user(None, runAsNonRoot=True)}, "Pod train-launcher", f"{FIRST}/volumeMounts/training-job-ssh"),
        READABLE,
    ),
    "only the container of another user has them": (
        *({"launcher": user(1000, MANY)}, "Pod train-launcher", "spec/containers/1/volumeMounts"),
        [MOUNT],
    ),
}


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=sentence)
        for table in (NAMES, SERVICES, FILES, ACCESS, SSH)
        for sentence, row in table.items()
    ],
)
def test_an_object(row: Row) -> None:
    spec, name, path, expected = row
    assert at(made(**spec)[name], path) == expected


def test_a_worker_runs_sshd_in_the_foreground() -> None:
    shell, _, script = at(made()["Pod train-worker-0"], f"{FIRST}/command")
    assert shell == "sh"
    assert "exec /usr/sbin/sshd -D -e" in script


@pytest.mark.parametrize("spec", [EXEC, ANOTHER], ids=["kubexec", "another Secret"])
def test_no_secret_is_made_where_none_is_needed(spec: dict[str, Any]) -> None:
    assert "Secret train" not in made(**spec)


def test_the_secret_has_a_pair_and_a_configuration_that_asks_nothing() -> None:
    data = {name: base64.b64decode(value).decode() for name, value in made()["Secret train"]["data"].items()}
    assert set(data) == {"config", "id_rsa", "id_rsa.pub"}
    assert "StrictHostKeyChecking no" in data["config"]
    assert "UserKnownHostsFile /dev/null" in data["config"]


def test_the_configuration_of_another_user_logs_in_as_root_with_keys_that_it_can_read() -> None:
    text = made()["ConfigMap train-config"]["data"]["ssh_config"]
    assert "User root" in text
    assert "IdentityFile /etc/springtide/ssh/id_rsa" in text
    assert text.index("Include /etc/springtide/ssh/config") < text.index("Host *"), "the Secret's takes precedence"


def test_kubectl_is_delivered_in_kubexec_mode_alone() -> None:
    pod = made(KUBECTL, **EXEC)["Pod train-launcher"]
    assert [each["name"] for each in pod["spec"]["initContainers"]] == ["kubectl-delivery", "init-hostfile"]
    assert at(pod, f"{FIRST}/volumeMounts/training-job-kubectl/mountPath") == "/opt/kube"
    assert [each["name"] for each in made(KUBECTL)["Pod train-launcher"]["spec"]["initContainers"]] == ["init-hostfile"]


def test_kubexec_runs_commands_in_the_workers_first_container() -> None:
    worker = {"template": {"spec": {"containers": [{"name": "train", "image": "a"}]}}}
    assert "--container train " in made(worker=worker)["ConfigMap train-config"]["data"]["kubexec.sh"]


def test_there_is_no_launcher_before_all_workers_are_ready() -> None:
    cluster = elastic_training(2)
    cluster.reconcile()
    assert cluster.workers() == ["train-worker-0", "train-worker-1"]
    cluster.ready("train-worker-0")
    cluster.reconcile()
    assert not cluster.of("Launcher")
    cluster.ready("train-worker-1")
    cluster.reconcile()
    assert [pod.name for pod in cluster.of("Launcher")] == ["train-launcher"]
    assert cluster.file("hostfile") == "", "the list is written for the launcher's pod, once it is there"
    assert cluster.file("discover_hosts.sh").endswith("exit 1\n"), "Horovod crashes on an empty answer"


@pytest.mark.parametrize("spec", [{}, EXEC, {"launcher": user(1000)}], ids=["ssh", "kubexec", "another user"])
def test_every_part_that_is_added_has_a_reserved_name(spec: dict[str, Any]) -> None:
    cluster = elastic_training(**spec)
    cluster.settings = KUBECTL
    running(cluster)
    own = cluster.observe().job.own
    for name, role in (("train-launcher", "Launcher"), ("train-worker-0", "Worker")):
        pod, reserved = cluster.manifests[name]["spec"], parts_of(own.attach, role, "train")
        assert {each["name"] for each in pod.get("volumes") or ()} <= set(reserved.volumes)
        assert {each["name"] for each in pod.get("initContainers") or ()} <= set(reserved.containers)


def test_the_template_is_left_as_it_was() -> None:
    cluster = elastic_training(launcher=user(1000, MANY))
    before = repr(cluster.raw)
    running(cluster)
    assert repr(cluster.raw) == before


def test_keys_are_made_under_the_names_of_the_secrets_type() -> None:
    opaque, typed = ({"type": name} for name in ("Opaque", "kubernetes.io/ssh-auth"))
    assert set(ssh.with_keys(opaque, b"pem", b"line")["data"]) == {"id_rsa", "id_rsa.pub"}
    assert set(ssh.with_keys(typed, b"pem", b"line")["data"]) == {"ssh-privatekey", "ssh-publickey"}


def test_the_service_of_a_worker_that_is_deleted_after_the_end_goes_with_it() -> None:
    cluster = running(elastic_training(run_policy={"cleanPodPolicy": "None"}))
    cluster.succeed()
    cluster.terminate("train-worker-0")
    cluster.settle()
    assert {key.name for key in cluster.objects if key.kind == "Service"} == {"train-worker-1"}
