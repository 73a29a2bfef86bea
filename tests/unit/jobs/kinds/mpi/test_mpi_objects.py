# SPDX-License-Identifier: Apache-2.0
"""Pods of an MPIJob, and what lets them reach each other."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from tests.unit.api.builders import a_template, an_mpijob

from springtide.api.defaults.mpijob import defaulted
from springtide.api.kinds.attach_mode import AttachMode
from springtide.api.kinds.mpi_parts import PARTS
from springtide.api.kinds.pod_parts import Parts
from springtide.jobs.actions import Secrets
from springtide.jobs.kind import NOBODY, Hosts, Wanted
from springtide.jobs.kinds.mpi.adapter import MPI_KIND
from springtide.jobs.observed import Settings
from springtide.jobs.parts import ssh
from springtide.jobs.parts.wiring import wanted

HOSTS = Hosts((), ("pi-worker-0", "pi-worker-7"), "", launcher_seen=True)
GPU = {"template": a_template("mpirun", resources={"limits": {"aliyun.com/gpu": 1}})}
OWNER = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "MPIJob",
    "name": "pi",
    "uid": "u-1",
    "controller": True,
    "blockOwnerDeletion": True,
}

OURS = {"springtide.dev/job": "pi", "springtide.dev/kind": "MPIJob"}


def worker(version: str = "v1", index: int = 3, **arguments: Any) -> dict[str, Any]:
    return dict(MPI_KIND.pod(defaulted(an_mpijob(version, **arguments)), "Worker", index, Settings()))


def launcher(version: str = "v1", settings: Settings = Settings(), **arguments: Any) -> dict[str, Any]:  # noqa: B008
    return dict(MPI_KIND.launching.manifest(defaulted(an_mpijob(version, **arguments)), settings))


def wiring(version: str, hosts: Hosts = HOSTS, **arguments: Any) -> dict[str, Wanted]:
    found = wanted(MPI_KIND, defaulted(an_mpijob(version, **arguments)), hosts)
    return {each.manifest["kind"]: each for each in found}


def env(pod: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in pod["spec"]["containers"][0]["env"]}


def mounts(pod: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["mountPath"] for each in pod["spec"]["containers"][0]["volumeMounts"]}


@pytest.mark.parametrize(
    ("version", "container", "expected"),
    [
        ("v1", {"command": []}, (["sleep"], ["365d"])),
        ("v1", {"command": [], "args": ["-x"]}, ([], ["-x"])),
        ("v1", {"command": ["sshd"]}, (["sshd"], None)),
        ("v2beta1", {"command": []}, (["/usr/sbin/sshd", "-De"], None)),
        ("v2beta1", {"command": [], "args": ["-x"]}, ([], ["-x"])),
    ],
    ids=[
        "v1: sleeps",
        "v1: arguments are kept",
        "v1: a command is kept",
        "v2beta1: sshd",
        "v2beta1: arguments are kept",
    ],
)
def test_a_worker_runs(version: str, container: dict[str, Any], expected: tuple[Any, Any]) -> None:
    first = worker(version, worker={"template": a_template(**container)})["spec"]["containers"][0]
    assert (first.get("command"), first.get("args")) == expected


def test_a_v1_worker_has_labels_of_all_families() -> None:
    assert worker()["metadata"]["labels"] == {
        "group-name": "kubeflow.org",
        "mpi-job-name": "pi",
        "mpi-job-role": "worker",
        "replica-index": "3",
        "group_name": "kubeflow.org",
        "mpi_job_name": "pi",
        "mpi_role_type": "worker",
        "training.kubeflow.org/operator-name": "mpijob-controller",
        "training.kubeflow.org/job-name": "pi",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": "3",
        **OURS,
        "springtide.dev/role": "Worker",
        "springtide.dev/index": "3",
    }


@pytest.mark.parametrize(("launcher_is_worker", "index"), [(False, "3"), (True, "4")])
def test_a_v2beta1_worker_has_upstreams_labels(launcher_is_worker: bool, index: str) -> None:
    assert worker("v2beta1", runLauncherAsWorker=launcher_is_worker)["metadata"]["labels"] == {
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-name": "pi",
        "training.kubeflow.org/job-role": "worker",
        "training.kubeflow.org/replica-index": index,
        **OURS,
        "springtide.dev/role": "Worker",
        "springtide.dev/index": "3",
    }


def test_a_v1_worker_mounts_the_agent_because_open_mpi_looks_for_it() -> None:
    pod = worker()
    assert mounts(pod) == {"mpi-job-config": "/etc/mpi"}
    items = pod["spec"]["volumes"][0]["configMap"]["items"]
    assert items == [{"key": "kubexec.sh", "path": "kubexec.sh", "mode": 0o555}]


def test_a_v2beta1_worker_has_a_name_in_dns_and_the_keys() -> None:
    spec = worker("v2beta1")["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("pi-worker-3", "pi")
    assert spec["dnsConfig"]["searches"] == ["pi.ns.svc.cluster.local"]
    assert mounts({"spec": spec}) == {"ssh-auth": "/root/.ssh"}
    assert env({"spec": spec}) == {"K_MPI_JOB_ROLE": "worker"}


@pytest.mark.parametrize(
    ("path", "pod", "container", "mode"),
    [
        ("/root/.ssh", {}, {}, 0o600),
        ("/root/.ssh", {"runAsUser": 0}, {}, 0o600),
        ("/root/.ssh", {"runAsUser": 1000}, {}, None),
        ("/root/.ssh", {"runAsUser": 1000, "fsGroup": 1000}, {}, 0o440),
        ("/root/.ssh", {"runAsUser": 1000}, {"runAsUser": 0}, 0o600),
        ("/home/mpiuser/.ssh", {}, {}, None),
        ("/home/mpiuser/.ssh", {"fsGroup": 1000}, {}, 0o440),
        ("/home/mpiuser/.ssh", {"fsGroup": 1000}, {"runAsUser": 1000}, 0o440),
    ],
    ids=[
        "root's own are root's alone",
        "root by its number",
        "an ordinary user at root's place, like everybody",
        "an ordinary user at root's place, by the pod's group",
        "a container of root's in a pod that is not",
        "an ordinary user, like everybody",
        "an ordinary user, by the pod's group",
        "an ordinary user by its number, by the pod's group",
    ],
)
def test_who_can_read_the_keys(path: str, pod: dict[str, Any], container: dict[str, Any], mode: int | None) -> None:
    template = a_template(securityContext=container)
    template["spec"]["securityContext"] = pod
    volume = worker("v2beta1", sshAuthMountPath=path, worker={"template": template})["spec"]["volumes"][0]
    assert volume["secret"].get("defaultMode") == mode
    assert [item["path"] for item in volume["secret"]["items"]] == ["id_rsa", "id_rsa.pub", "authorized_keys"]


def test_the_template_is_left_as_it_was() -> None:
    raw = an_mpijob(worker={"template": a_template(env=[{"name": "A", "value": "b"}])})
    job = defaulted(raw)
    first, second = MPI_KIND.pod(job, "Worker", 0, Settings()), MPI_KIND.pod(job, "Worker", 0, Settings())
    assert first == second
    assert raw["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"].keys() == {"containers"}


@pytest.mark.parametrize(
    ("given", "run"),
    [("Never", "Never"), ("OnFailure", "OnFailure"), ("Always", "Always"), ("ExitCode", "Never")],
)
def test_the_restart_policy_of_a_worker_is_the_roles(given: str, run: str) -> None:
    assert worker(worker={"restartPolicy": given})["spec"]["restartPolicy"] == run


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_istio_stays_out_unless_the_user_wants_it(version: str) -> None:
    istio = "sidecar.istio.io/inject"
    assert worker(version)["metadata"]["annotations"][istio] == "false"
    wants = {"template": {**a_template(), "metadata": {"annotations": {istio: "true"}}}}
    assert worker(version, worker=wants)["metadata"]["annotations"][istio] == "true"


def test_a_v1_launcher_is_a_pod_that_waits_for_its_hosts() -> None:
    pod = launcher()
    assert (pod["kind"], pod["metadata"]["name"], pod["metadata"]["ownerReferences"]) == ("Pod", "pi-launcher", [OWNER])
    assert pod["spec"]["restartPolicy"] == "Never"
    assert pod["spec"]["serviceAccountName"] == "pi-launcher"
    (waiting,) = pod["spec"]["initContainers"]
    assert waiting["image"] == "pi"
    assert "/etc/mpi/hosts_given.sh" in waiting["command"][-1]
    modes = {item["key"]: item["mode"] for item in pod["spec"]["volumes"][0]["configMap"]["items"]}
    assert modes == {"hostfile": 0o444, "discover_hosts.sh": 0o555, "hosts_given.sh": 0o555, "kubexec.sh": 0o555}
    assert pod["metadata"]["labels"]["training.kubeflow.org/job-role"] == "master"


def test_a_v1_launcher_keeps_the_users_service_account_and_binds_it() -> None:
    own = {"template": {"spec": {**a_template("mpirun")["spec"], "serviceAccountName": "mine"}}}
    assert launcher(launcher=own)["spec"]["serviceAccountName"] == "mine"
    assert wiring("v1", launcher=own)["RoleBinding"].manifest["subjects"][0]["name"] == "mine"


def test_kubectl_is_delivered_where_pods_have_none() -> None:
    pod = launcher(settings=Settings(kubectl_image="kubectl:1"))
    assert [each["name"] for each in pod["spec"]["initContainers"]] == ["kubectl-delivery", "wait-for-hosts"]
    assert mounts(pod)["mpi-job-kubectl"] == "/opt/kube"


def test_a_v2beta1_launcher_is_a_batch_job() -> None:
    policy = {"backoffLimit": 2, "activeDeadlineSeconds": 9, "suspend": True}
    job = launcher("v2beta1", runPolicy=policy)
    spec = job["spec"]
    assert (job["kind"], job["metadata"]["labels"]) == ("Job", {"app": "pi", **OURS})
    assert {**policy, "podReplacementPolicy": "Failed"}.items() <= spec.items()
    template = spec["template"]
    assert template["spec"]["hostname"] == "pi-launcher"
    assert template["spec"]["restartPolicy"] == "Never"
    assert "serviceAccountName" not in template["spec"]
    assert "name" not in template["metadata"]


def test_a_launcher_job_does_not_go_before_it_was_heard_how_it_ended() -> None:
    job = launcher("v2beta1", runPolicy={"ttlSecondsAfterFinished": 0})
    assert "ttlSecondsAfterFinished" not in job["spec"]


HIDDEN = {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}


@pytest.mark.parametrize(
    ("version", "spec", "expected"),
    [
        ("v1", {}, {"OMPI_MCA_plm_rsh_agent": "/etc/mpi/kubexec.sh", **HIDDEN}),
        ("v1", {}, {"PRTE_MCA_plm_ssh_agent": "/etc/mpi/kubexec.sh"}),
        ("v1", {}, {"OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile"}),
        ("v1", {}, {"PRTE_MCA_prte_default_hostfile": "/etc/mpi/hostfile"}),
        ("v1", {}, {"I_MPI_HYDRA_BOOTSTRAP": "rsh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": "/etc/mpi/kubexec.sh"}),
        (
            "v2beta1",
            {"slotsPerWorker": 4},
            {
                "K_MPI_JOB_ROLE": "launcher",
                "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
                "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
                "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
                "OMPI_MCA_orte_set_default_slots": "4",
                "PRTE_MCA_prte_default_hostfile": "/etc/mpi/hostfile",
                "PRTE_MCA_plm_ssh_args": "-o ConnectionAttempts=10",
                **HIDDEN,
            },
        ),
        (
            "v2beta1",
            {"mpiImplementation": "Intel"},
            {
                "I_MPI_HYDRA_HOST_FILE": "/etc/mpi/hostfile",
                "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "-o ConnectionAttempts=10",
                "I_MPI_PERHOST": "1",
            },
        ),
        (
            "v2beta1",
            {"mpiImplementation": "MPICH"},
            {
                "HYDRA_HOST_FILE": "/etc/mpi/hostfile",
                "HYDRA_LAUNCH_EXTRA_ARGS": "-o ConnectionAttempts=10",
            },
        ),
    ],
    ids=[
        "v1: the agent of Open MPI 4",
        "v1: the agent of Open MPI 5",
        "v1: the hostfile of Open MPI 4",
        "v1: the hostfile of Open MPI 5",
        "v1: Intel MPI",
        "v2beta1: Open MPI, both families",
        "v2beta1: Intel MPI",
        "v2beta1: MPICH",
    ],
)
def test_a_launchers_environment_has(version: str, spec: dict[str, Any], expected: dict[str, str]) -> None:
    made = launcher(version, **spec)
    pod = made["spec"]["template"] if version == "v2beta1" else made
    assert expected.items() <= env(pod).items()


def test_the_users_own_word_on_intel_mpi_stands() -> None:
    own = {"template": a_template("mpirun", env=[{"name": "I_MPI_HYDRA_BOOTSTRAP", "value": "ssh"}])}
    assert env(launcher(launcher=own))["I_MPI_HYDRA_BOOTSTRAP"] == "ssh"


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_horovod_has_patience_with_newcomers(version: str) -> None:
    name, command = "HOROVOD_GLOO_TIMEOUT_SECONDS", ("horovodrun", "-np", "2", "--min-np", "1", "python", "train.py")
    given = env(podded(launcher(version, launcher={"template": a_template(*command)})))
    assert (given[name], given["HOROVOD_START_TIMEOUT"]) == ("300", "300")
    own = {"template": a_template(*command, env=[{"name": name, "value": "60"}])}
    assert env(podded(launcher(version, launcher=own)))[name] == "60"
    assert name not in env(podded(launcher(version)))


def podded(launcher: dict[str, Any]) -> dict[str, Any]:
    """Its pod, whatever makes it."""
    found: dict[str, Any] = launcher["spec"]["template"] if launcher["kind"] == "Job" else launcher
    return found


@pytest.mark.parametrize(
    ("version", "arguments", "hidden"),
    [
        ("v1", {}, True),
        ("v1", {"launcher": GPU}, False),
        ("v2beta1", {"launcher": GPU}, True),
        ("v2beta1", {"runLauncherAsWorker": True}, False),
    ],
    ids=["a launcher sees no GPUs", "one that asks does", "but in v1 alone", "one that is a worker does"],
)
def test_gpus(version: str, arguments: dict[str, Any], hidden: bool) -> None:
    made = launcher(version, **arguments)
    pod = made["spec"]["template"] if version == "v2beta1" else made
    assert ("NVIDIA_VISIBLE_DEVICES" in env(pod)) == hidden


def test_the_role_reaches_the_jobs_own_workers_alone() -> None:
    rules = wiring("v1")["Role"].manifest["rules"]
    assert {
        "apiGroups": [""],
        "resources": ["pods/exec"],
        "verbs": ["get", "create"],
        "resourceNames": ["pi-worker-0", "pi-worker-7"],
    } in rules
    assert {"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"], "resourceNames": ["pi-launcher"]} in rules


def test_the_role_of_a_job_none_of_whose_pods_was_seen_names_none() -> None:
    (rule,) = wiring("v1", NOBODY)["Role"].manifest["rules"]
    assert rule == {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}


def test_objects_of_each_version() -> None:
    assert list(wiring("v1")) == ["ServiceAccount", "Role", "RoleBinding"]
    assert list(wiring("v2beta1")) == ["Service", "Secret"]
    for each in (*wiring("v1").values(), *wiring("v2beta1").values()):
        assert each.manifest["metadata"]["labels"] == {"app": "pi", **OURS}
        assert each.manifest["metadata"]["ownerReferences"][0]["controller"] is True


def test_the_service_is_headless_and_names_pods_that_are_not_ready() -> None:
    spec = wiring("v2beta1")["Service"].manifest["spec"]
    assert (spec["clusterIP"], spec["publishNotReadyAddresses"]) == ("None", True)
    selector, labels = spec["selector"], worker("v2beta1")["metadata"]["labels"]
    assert selector.items() <= labels.items()


def test_the_secret_gets_its_keys_from_who_creates_it() -> None:
    wanted = wiring("v2beta1")["Secret"]
    assert wanted.secrets is Secrets.SSH_KEYS
    made = ssh.with_keys(wanted.manifest, b"pem", b"line")
    assert made["type"] == "kubernetes.io/ssh-auth"
    assert {name: base64.b64decode(value) for name, value in made["data"].items()} == {
        "ssh-privatekey": b"pem",
        "ssh-publickey": b"line",
    }


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
@pytest.mark.parametrize(
    ("given", "policy"), [({}, "FallbackToLogsOnError"), ({"terminationMessagePolicy": "File"}, "File")]
)
def test_last_lines_come_with_how_a_pod_ended_unless_the_user_says_otherwise(
    version: str, given: dict[str, str], policy: str
) -> None:
    made = launcher(version, launcher={"template": a_template("mpirun", **given)})
    pod = made["spec"]["template"] if version == "v2beta1" else made
    for each in (pod, worker(version, worker={"template": a_template(**given)})):
        assert each["spec"]["containers"][0]["terminationMessagePolicy"] == policy


def parts(spec: dict[str, Any]) -> Parts:
    names = [tuple(each["name"] for each in spec.get(field, ())) for field in ("volumes", "initContainers")]
    return Parts(*(tuple(sorted(each)) for each in names))


@pytest.mark.parametrize(("version", "mode"), [("v1", AttachMode.KUBEXEC), ("v2beta1", AttachMode.SSH)])
def test_names_that_users_may_not_take_are_those_that_are_added(version: str, mode: AttachMode) -> None:
    first = launcher(version, Settings(kubectl_image="kubectl:1"))["spec"]
    made = {"Launcher": first.get("template", {"spec": first})["spec"], "Worker": worker(version)["spec"]}
    for role, spec in made.items():
        known = PARTS[mode, role]
        assert parts(spec) == Parts(tuple(sorted(known.volumes)), tuple(sorted(known.containers)))
