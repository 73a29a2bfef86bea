# SPDX-License-Identifier: Apache-2.0
"""Pod objects in, what a shim is told out."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from springtide.kube.resources import Key, Obj
from springtide.local.environments import operators
from springtide.local.environments.environment import Environment, Files
from springtide.local.kubelet.containers import mounts, rewriting, sandboxes
from springtide.local.kubelet.containers.bodies import zero_byte
from springtide.local.kubelet.containers.container_bodies import ContainerBodies, Prepared
from springtide.local.kubelet.containers.refusals import NotReady
from springtide.local.kubelet.node.facts import Facts
from springtide.local.kubelet.sources import ConfigMap, Reference, Secret, Sources, references_of
from springtide.local.kubelet.specs import variables
from springtide.local.kubelet.specs.variables import Service
from springtide.local.kubelet.volumes.setup import Volume
from springtide.local.runtime.contract import ContainerBody, Mount, PodBody

ENVIRONMENT = Environment("torch", "/opt/torch", workdir="/work", paths=("/opt/torch", "/root/python/3.12"))


class Known(Sources):
    """What the API would say."""

    def __init__(self, config_maps: Mapping[str, dict[str, str]], services: list[Service]) -> None:
        self._config_maps, self._all = config_maps, services

    def config_map(self, key: Key) -> ConfigMap | None:
        data = self._config_maps.get(key.name)
        return None if data is None else ConfigMap(data, {"bin": b"\xff"})

    def secret(self, key: Key) -> Secret | None:
        known = {
            Key("team", "ssh"): Secret({"ssh-privatekey": b"k"}, "kubernetes.io/ssh-auth"),
            Key("team", "files"): Secret({"id_rsa": b"k", "id_rsa.pub": b"p"}, "Opaque"),
        }
        return known.get(key)

    def services(self, namespace: str) -> list[Service]:
        return [service for service in self._all if service.metadata.namespace == namespace]

    def api_server(self) -> Service | None:
        return next((service for service in self._all if service.metadata.name == "kubernetes"), None)


class Gpus:
    def allocate(self, pod_uid: str, container: str, wanted: Mapping[str, int]) -> dict[str, str]:
        return {"CUDA_VISIBLE_DEVICES": "0"} if wanted.get("nvidia.com/gpu") else {}

    def release(self, pod_uid: str) -> None:
        return None


def a_service(name: str, namespace: str, address: str) -> Service:
    spec = {"clusterIP": address, "ports": [{"name": "https", "port": 443}]}
    return msgspec.convert({"metadata": {"name": name, "namespace": namespace}, "spec": spec}, Service)


SERVICES = [a_service("kubernetes", "default", "10.96.0.1"), a_service("web", "team", "10.96.0.9")]


class Node:
    def __init__(self, data: Path, **facts: Any) -> None:
        self.facts = Facts("n1", data, **{"uid": 0, "gid": 0} | facts)
        self.bodies = ContainerBodies(self.facts, Known({"c": {"K": "v"}}, SERVICES), Gpus())
        self.volumes: dict[str, Volume] = {}

    def sandbox(self, pod: Obj) -> PodBody:
        directory = self.facts.pod_directory("u")
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "pod.json").write_text(json.dumps({"address": "10.244.1.5"}))
        return sandboxes.write(pod, directory, self.facts)

    def body(self, pod: Obj, environment: Environment = ENVIRONMENT, attempt: int = 0) -> ContainerBody:
        prepared = Prepared(self.sandbox(pod), self.facts.pod_directory("u"), self.volumes)
        return self.bodies.make(pod, pod["spec"]["containers"][0], environment, attempt, prepared)


def a_pod(spec: Obj | None = None, **container: Any) -> Obj:
    main = {"name": "main", "image": "pytorch:2", "command": ["python"]} | container
    metadata = {"namespace": "team", "name": "p", "uid": "u"}
    return {"metadata": metadata, "spec": {"containers": [main], **(spec or {})}}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def at(body: ContainerBody, target: str) -> Mount:
    return next(mount for mount in body.mounts if mount.target == target)


# The program


def test_a_plain_container(node: Node) -> None:
    body = node.body(a_pod(args=["-m", "train", "--host=$(WEB_SERVICE_HOST)", "$(KEPT)"]))
    assert body.argv == ("python", "-m", "train", "--host=10.96.0.9", "$(KEPT)")
    assert body.cwd == "/work"
    assert body.log == str(node.facts.data_dir / "logs/team_p_u/main/0.log")
    assert body.env["PATH"].startswith("/opt/torch/bin:")
    assert body.env["PATH"].endswith(":/run/springtide/bin")
    assert body.env["HOSTNAME"] == "p"
    assert body.env["HOME"] == "/root"
    assert body.env["KUBERNETES_SERVICE_HOST"] == "10.96.0.1"
    assert "TERM" not in body.env


def test_nothing_of_the_agents_own_environment_comes_through(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "x")
    assert not {"LD_PRELOAD", "XDG_DATA_HOME", "PWD"} & node.body(a_pod()).env.keys()


def test_variables_of_services_are_made_once_for_the_containers_of_a_namespace(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    make = variables.of_services

    def counting(services: list[Service]) -> dict[str, str]:
        made.append(len(services))
        return make(services)

    monkeypatch.setattr(variables, "of_services", counting)
    for _ in range(5):
        assert node.body(a_pod()).env["WEB_SERVICE_HOST"] == "10.96.0.9"
    assert len(made) == 1
    assert "WEB_SERVICE_HOST" not in node.body(a_pod({"enableServiceLinks": False})).env


def test_services_with_too_many_ports_are_a_reason_not_to_start(tmp_path: Path) -> None:
    ports = [{"name": f"p{port}", "port": port} for port in range(1, 20_000)]
    spec = {"clusterIP": "10.96.0.7", "ports": ports}
    large = msgspec.convert({"metadata": {"name": "large", "namespace": "team"}, "spec": spec}, Service)
    node = Node(tmp_path)
    node.bodies = ContainerBodies(node.facts, Known({}, [*SERVICES, large]), Gpus())
    with pytest.raises(NotReady, match="enableServiceLinks: false"):
        node.body(a_pod())
    assert node.body(a_pod({"enableServiceLinks": False})).env["KUBERNETES_SERVICE_HOST"] == "10.96.0.1"


def test_the_pods_author_has_the_last_word_on_variables(node: Node) -> None:
    variables = [{"name": name, "value": "own"} for name in ("PATH", "HOME", "HOSTNAME", "WEB_SERVICE_HOST")]
    env = node.body(a_pod(env=variables)).env
    assert {env[each["name"]] for each in variables} == {"own"}


def test_service_links_can_be_switched_off_but_the_api_server_stays(node: Node) -> None:
    env = node.body(a_pod({"enableServiceLinks": False})).env
    assert "WEB_SERVICE_HOST" not in env
    assert env["KUBERNETES_SERVICE_PORT"] == "443"


def test_on_the_hosts_network_the_api_server_is_at_its_own_address(tmp_path: Path) -> None:
    node = Node(tmp_path, server="https://127.0.0.1:7443")
    env = node.body(a_pod({"hostNetwork": True})).env
    assert (env["KUBERNETES_SERVICE_HOST"], env["KUBERNETES_SERVICE_PORT"]) == ("127.0.0.1", "7443")
    assert env["KUBERNETES_PORT_7443_TCP_ADDR"] == "127.0.0.1"


def test_args_alone_are_a_command(node: Node) -> None:
    assert node.body(a_pod(command=None, args=["sleep", "1"])).argv == ("sleep", "1")


IMAGE = Environment("torch", "/opt/torch", entrypoint=("/ep-1",), cmd=("foo", "$(WEB_SERVICE_HOST)"))


@pytest.mark.parametrize(
    ("fields", "argv"),
    [
        pytest.param({"command": None}, ("/ep-1", "foo", "$(WEB_SERVICE_HOST)"), id="neither"),
        pytest.param({"command": ["/ep-2"]}, ("/ep-2",), id="command"),
        pytest.param({"command": None, "args": ["zoo", "boo"]}, ("/ep-1", "zoo", "boo"), id="args"),
        pytest.param({"command": ["/ep-2"], "args": ["zoo", "boo"]}, ("/ep-2", "zoo", "boo"), id="both"),
        pytest.param({"command": [], "args": []}, ("/ep-1", "foo", "$(WEB_SERVICE_HOST)"), id="empty"),
        pytest.param({"command": None, "args": ["$(WEB_SERVICE_HOST)"]}, ("/ep-1", "10.96.0.9"), id="expanded"),
    ],
)
def test_command_and_args_replace_what_the_image_says(node: Node, fields: Obj, argv: tuple[str, ...]) -> None:
    """The table of Kubernetes' documentation; only what the pod says itself is expanded."""
    assert node.body(a_pod(**fields), IMAGE).argv == argv


def test_variables_of_an_environment_yield_to_those_of_the_container(node: Node) -> None:
    environment = Environment("torch", "/opt/torch", env={"A": "image", "B": "image"})
    env = node.body(a_pod(env=[{"name": "A", "value": "pod"}]), environment).env
    assert (env["A"], env["B"]) == ("pod", "image")


def test_a_program_that_no_image_brings_waits_for_an_environment(node: Node) -> None:
    own = Environment("tide", "/usr", ("python",))
    with pytest.raises(NotReady) as caught:
        node.body(a_pod(image="me/train:1", command=["no-such-program"]), own)
    assert caught.value.reason == "ErrImagePull"
    assert caught.value.message == (
        "images are not pulled here, no environment stands in for this one, and the environment that runs tide has no "
        '"no-such-program". Make one, and the pod starts by itself: '
        "tide env create train --pip PACKAGE --image 'me/train:*'"
    )
    with pytest.raises(NotReady, match=r"the container has no command.* --cmd COMMAND --image 'me/train:"):
        node.body(a_pod(image="me/train:1", command=None), own)
    with pytest.raises(NotReady, match=r"has args but no command.* --entrypoint COMMAND --image 'me/train:"):
        node.body(a_pod(image="me/train:1", command=None, args=["--backend", "gloo"]), own)
    assert node.body(a_pod(image="me/train:1", command=["sh"]), own).argv == ("sh",)


def test_a_program_that_an_image_of_the_machine_should_have_is_an_error_of_its_own(node: Node) -> None:
    own = Environment("tide", "/usr", ("python",))
    body = node.body(a_pod(image="python:3.12", command=["no-such-program"]), own)
    assert "tide env create python --pip PACKAGE" in body.cure


def test_args_without_an_entrypoint_are_no_missing_program(node: Node) -> None:
    made = Environment("train", "/e/1", ("me/train",))
    body = node.body(a_pod(image="me/train:1", command=None, args=["--epochs", "3"]), made)
    assert body.cure.endswith(
        "which has no entrypoint, and the container has args but no command. Give the environment an entrypoint: "
        "tide env create train --replace --image me/train --entrypoint COMMAND"
    )


def test_files_that_are_copied_belong_to_the_attempt(node: Node, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "train.py").write_text("1")
    environment = Environment("torch", "/opt/torch", files=(Files(str(tmp_path / "files"), "/examples", copied=True),))
    first, again, second = (at(node.body(a_pod(), environment, attempt), "/examples") for attempt in (0, 0, 1))
    assert first == again
    assert first.source != second.source
    assert not first.read_only
    Path(first.source, "train.py").write_text("2")
    assert Path(second.source, "train.py").read_text() == "1"


def test_what_stands_in_for_an_operator_runs_whatever_its_container_asks_for(node: Node) -> None:
    operator = operators.for_image("mpioperator/mpi-operator:latest")
    assert operator is not None
    pod = a_pod(image="mpioperator/mpi-operator:latest", command=["/opt/mpi-operator.v1"], args=["-alsologtostderr"])
    body = node.body(pod, operators.stand_in(operator))
    assert body.argv[0] == "/bin/sh"
    assert body.argv[-1] == operator.notice


def test_a_container_without_a_command_hears_what_to_write(node: Node) -> None:
    with pytest.raises(NotReady) as caught:
        node.body(a_pod(command=None))
    assert caught.value.reason == "CreateContainerError"
    assert caught.value.message == (
        'no command: image "pytorch:2" is not pulled but runs in environment "torch" (/opt/torch), which has no '
        'command of its own. Write one into the command of container "main", or give the environment one: '
        "tide env create torch --replace --workdir /work --cmd COMMAND"
    )


def test_a_missing_config_map_is_a_config_error(node: Node) -> None:
    with pytest.raises(NotReady) as caught:
        node.body(a_pod(envFrom=[{"configMapRef": {"name": "none"}}]))
    assert (caught.value.reason, caught.value.message) == (
        "CreateContainerConfigError",
        'configmap "none" not found',
    )


def test_binary_data_is_no_variable(node: Node) -> None:
    assert "bin" not in node.body(a_pod(envFrom=[{"configMapRef": {"name": "c"}}])).env


def test_devices_come_as_variables(node: Node) -> None:
    assert node.body(a_pod(resources={"limits": {"nvidia.com/gpu": "1"}})).env["CUDA_VISIBLE_DEVICES"] == "0"


def test_terminals_limits_and_read_only_roots(node: Node) -> None:
    body = node.body(
        a_pod(
            tty=True,
            stdin=True,
            resources={"limits": {"memory": "1Gi"}},
            securityContext={"readOnlyRootFilesystem": True, "runAsUser": 7, "runAsGroup": 8},
        )
    )
    assert (body.tty, body.stdin, body.env["TERM"]) == (True, True, "xterm")
    assert body.memory_limit == 2**30
    assert (body.user, body.group, body.read_only_root) == (7, 8, True)
    assert node.body(a_pod({"resources": {"limits": {"memory": "2Gi"}}})).memory_limit == 2**31
    assert node.body(a_pod()).memory_limit is None


def test_an_ordinary_users_programs_run_as_he_does(tmp_path: Path) -> None:
    body = Node(tmp_path, uid=1001, gid=1001).body(a_pod(securityContext={"runAsUser": 7, "runAsNonRoot": True}))
    assert (body.user, body.group, body.groups, body.env["HOME"]) == (None, None, (), "/root")


def test_a_uid_that_nobody_has_is_at_home_nowhere(node: Node) -> None:
    assert node.body(a_pod(securityContext={"runAsUser": 47110})).env["HOME"] == "/"


# What it sees


def test_a_container_sees_its_environment_and_its_own_etc(node: Node) -> None:
    body = node.body(a_pod())
    directory = node.facts.pod_directory("u")
    assert at(body, "/opt/torch") == Mount("/opt/torch", "/opt/torch", read_only=True)
    assert at(body, "/root/python/3.12").read_only
    assert at(body, "/etc/hosts").source == str(directory / "etc/hosts")
    assert at(body, "/run/springtide/bin").read_only
    assert at(body, "/run/springtide/exec").source == str(node.facts.data_dir / "exec" / "u")
    message = Path(at(body, "/dev/termination-log").source)
    assert message == directory / "containers/main/0.message"
    assert stat.S_IMODE(message.stat().st_mode) == 0o666


def test_systems_own_directories_are_not_bound_again(node: Node) -> None:
    body = node.body(a_pod(), Environment("sys", "/usr", paths=("/usr",)))
    assert not [mount for mount in body.mounts if mount.target.startswith("/usr")]


def test_files_of_an_environment_are_where_it_says(node: Node, tmp_path: Path) -> None:
    body = node.body(a_pod(), Environment("e", "/opt/e", files=(Files(str(tmp_path), "/examples/"),)))
    assert at(body, "/examples") == Mount("/examples", str(tmp_path))


def test_volumes_are_where_the_container_wants_them(node: Node, tmp_path: Path) -> None:
    node.volumes = {"v": Volume(tmp_path / "v"), "c": Volume(tmp_path / "c", read_only=True)}
    (tmp_path / "v").mkdir()
    given = [
        {"name": "v", "mountPath": "/data/"},
        {"name": "v", "mountPath": "/data/part", "subPathExpr": "$(POD)/x", "readOnly": True},
        {"name": "c", "mountPath": "/etc/hosts"},
    ]
    pod = a_pod(volumeMounts=given, env=[{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])
    body = node.body(pod)
    assert at(body, "/data") == Mount("/data", str(tmp_path / "v"))
    assert at(body, "/data/part") == Mount("/data/part", str(tmp_path / "v/p/x"), read_only=True)
    assert at(body, "/etc/hosts") == Mount("/etc/hosts", str(tmp_path / "c"), read_only=True)
    targets = [mount.target for mount in body.mounts]
    assert len(targets) == len(set(targets))
    assert targets.index("/data") < targets.index("/data/part")


@pytest.mark.parametrize(
    ("mount", "complaint"),
    [
        ({"name": "none"}, 'cannot find volume "none" to mount into container "main"'),
        ({"name": "v", "subPathExpr": "$(NO)/$(NOR)"}, "missing value for NO, NOR"),
        ({"name": "v", "subPath": "../x"}, "unable to provision SubPath `../x`: must not contain '..'"),
        ({"name": "v", "subPath": "out"}, 'failed to prepare subPath for volumeMount "v" of container "main"'),
        (
            {"name": "v", "subPath": "file/x"},
            'failed to create subPath directory for volumeMount "v" of container "main"',
        ),
    ],
)
def test_a_mount_that_cannot_be_is_a_config_error(node: Node, tmp_path: Path, mount: Obj, complaint: str) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v/out").symlink_to("/etc")
    (tmp_path / "v/file").touch()
    node.volumes = {"v": Volume(tmp_path / "v")}
    with pytest.raises(NotReady) as caught:
        node.body(a_pod(volumeMounts=[{"mountPath": "/m"} | mount]))
    assert (caught.value.reason, caught.value.message) == ("CreateContainerConfigError", complaint)


def test_block_devices_are_refused(node: Node) -> None:
    with pytest.raises(NotReady, match='cannot find volume "disk" to pass into container "main"'):
        node.body(a_pod(volumeDevices=[{"name": "disk", "devicePath": "/dev/x"}]))


@pytest.mark.parametrize("path", ["out/passwd", "none"])
def test_a_file_of_variables_is_read_from_its_volume_and_nowhere_else(node: Node, tmp_path: Path, path: str) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v/out").symlink_to("/etc")
    (tmp_path / "v/env").write_text("A='1'\n")
    node.volumes = {"v": Volume(tmp_path / "v")}
    reference = {"volumeName": "v", "path": "env", "key": "A"}
    pod = a_pod(env=[{"name": "A", "valueFrom": {"fileKeyRef": reference}}])
    assert node.body(pod).env["A"] == "1"
    for wrong, complaint in (
        (reference | {"path": path}, "couldn't parse"),
        (reference | {"volumeName": "w"}, "cannot find"),
    ):
        with pytest.raises(NotReady, match=complaint):
            node.body(a_pod(env=[{"name": "A", "valueFrom": {"fileKeyRef": wrong}}]))


# The sandbox


def test_a_sandbox_has_name_address_and_network(node: Node) -> None:
    body = node.sandbox(a_pod({"subdomain": "job", "shareProcessNamespace": True}))
    assert body == PodBody(
        uid="u",
        namespace="team",
        name="p",
        hostname="p",
        domain="job.team.svc.cluster.local",
        address="10.244.1.5",
        holder=str(node.facts.data_dir / "network/holder.sock"),
        exec_socket=str(node.facts.data_dir / "exec/u.sock"),
        isolation="namespaces",
        share_processes=True,
    )
    written = (node.facts.pod_directory("u") / "body.json").read_bytes()
    assert msgspec.json.decode(written, type=PodBody) == body


def test_a_sandbox_on_the_hosts_network_has_none_of_its_own(node: Node) -> None:
    body = node.sandbox(a_pod({"hostNetwork": True}))
    assert (body.address, body.holder, body.domain) == ("", "", "")


def test_a_name_too_long_is_said_before_anything_starts(node: Node) -> None:
    with pytest.raises(NotReady, match="Failed to create pod sandbox: failed to construct FQDN") as caught:
        node.sandbox(a_pod({"hostname": "h" * 50, "subdomain": "job", "setHostnameAsFQDN": True}))
    assert caught.value.reason == "FailedCreatePodSandBox"


# Without namespaces


def test_without_namespaces_paths_are_rewritten(tmp_path: Path) -> None:
    node = Node(tmp_path, isolation="none", server="https://127.0.0.1:7443")
    (tmp_path / "v").mkdir()
    node.volumes = {"v": Volume(tmp_path / "v"), "account": Volume(tmp_path / "account", read_only=True)}
    node.sandbox(a_pod())
    (node.facts.pod_directory("u") / "etc/kubeconfig").touch()
    given = [{"name": "v", "mountPath": "/data"}, {"name": "account", "mountPath": rewriting.ACCOUNT}]
    pod = a_pod(
        volumeMounts=given,
        args=["/data/train.py", "--out=/data/out", "/etc/hosts"],
        env=[{"name": "DATA", "value": "/data:/database"}],
        workingDir="/data/in",
    )
    body = node.body(pod)
    assert body.argv == ("python", f"{tmp_path}/v/train.py", f"--out={tmp_path}/v/out", "/etc/hosts")
    assert body.env["DATA"] == f"{tmp_path}/v:/database"
    assert body.env["PATH"].endswith(f":{tmp_path}/bin")
    assert body.env["KUBECONFIG"] == str(node.facts.pod_directory("u") / "etc/kubeconfig")
    assert body.env["KUBERNETES_SERVICE_PORT"] == "7443"
    assert Path(body.env["HOME"]).is_dir()
    assert body.cwd == f"{tmp_path}/v/in"
    assert body.mounts == ()
    assert node.body(a_pod(), Environment("e", "/opt/e")).cwd == body.env["HOME"]


# What it refers to


def test_every_reference_of_a_pod_is_found() -> None:
    pod = a_pod(
        {
            "initContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "s1"}}]}],
            "volumes": [
                {"name": "a", "configMap": {"name": "c1"}},
                {"name": "b", "secret": {"secretName": "s2"}},
                {"name": "c", "projected": {"sources": [{"configMap": {"name": "c2"}}, {"secret": {"name": "s3"}}]}},
                {"name": "d", "emptyDir": {}},
            ],
        },
        env=[
            {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c3", "key": "k"}}},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s4", "key": "k"}}},
            {"name": "C", "value": "x"},
        ],
        envFrom=[{"configMapRef": {"name": "c4"}}],
    )
    expected = {Reference("ConfigMap", Key("team", f"c{n}")) for n in range(1, 5)}
    assert references_of(pod) == expected | {Reference("Secret", Key("team", f"s{n}")) for n in range(1, 5)}


def test_of_two_mounts_at_one_path_the_last_wins() -> None:
    assert mounts.ordered([Mount("/a/b", "1"), Mount("/a", "2"), Mount("/a/b", "3")]) == (
        Mount("/a", "2"),
        Mount("/a/b", "3"),
    )


def test_what_stands_in_for_an_image_is_never_put_into_a_chosen_directory() -> None:
    kube, chosen = Mount("/opt/kube", "ours"), Mount("/opt", "theirs")
    assert mounts.together([], [kube], [chosen]) == (chosen,)
    assert mounts.together([], [kube], [Mount("/opt/kube", "theirs")]) == (Mount("/opt/kube", "theirs"),)
    assert mounts.together([], [kube], [Mount("/opt/ku", "theirs")]) == (kube, Mount("/opt/ku", "theirs"))
    assert mounts.together([kube], [], [chosen]) == (chosen, kube)


def test_every_container_finds_kubectl_where_operators_bring_it(node: Node) -> None:
    assert at(node.body(a_pod()), "/opt/kube").source == str(node.facts.data_dir / "bin")
    node.volumes["kubectl"] = Volume(Path("/v/kubectl"))
    body = node.body(a_pod(volumeMounts=[{"name": "kubectl", "mountPath": "/opt/kube"}]))
    assert at(body, "/opt/kube").source == "/v/kubectl"


# Logging in

SSH = {"volumes": [{"name": "ssh-auth", "secret": {"secretName": "ssh"}}]}


def with_keys(folder: str, **container: Any) -> Obj:
    return a_pod(SSH, volumeMounts=[{"name": "ssh-auth", "mountPath": folder}], **container)


def test_a_container_with_keys_has_its_own_ssh(node: Node) -> None:
    node.volumes["ssh-auth"] = Volume(Path("/v/ssh"), read_only=True)
    body = node.body(with_keys("/root/.ssh", env=[{"name": "PATH", "value": "/own/bin"}]))
    assert 'SetEnv "PATH=/own/bin"' in Path(at(body, "/etc/ssh").source, "sshd_config").read_text()
    assert at(body, "/etc/passwd").source.endswith("/containers/main/etc/passwd")
    assert body.env["HOME"] == "/root"
    assert "/etc/ssh" not in {mount.target for mount in node.body(a_pod()).mounts}


def test_another_user_lives_beside_his_keys(node: Node) -> None:
    node.volumes["ssh-auth"] = Volume(Path("/v/ssh"), read_only=True)
    body = node.body(with_keys("/home/mpiuser/.ssh", securityContext={"runAsUser": 54321}))
    assert body.env["HOME"] == "/home/mpiuser"
    assert "user54321:*:54321:0:user54321:/home/mpiuser:" in Path(at(body, "/etc/passwd").source).read_text()


def test_an_ordinary_users_pods_live_beside_their_keys(tmp_path: Path) -> None:
    node = Node(tmp_path, uid=54321, gid=54321)
    node.volumes["ssh-auth"] = Volume(Path("/v/ssh"), read_only=True)
    assert node.body(with_keys("/home/mpiuser/.ssh")).env["HOME"] == "/home/mpiuser"
    assert node.body(with_keys("/keys")).env["HOME"] == "/root"


FILES = [{"key": "id_rsa", "path": ".ssh/id_rsa"}, {"key": "id_rsa.pub", "path": ".ssh/authorized_keys"}]


def with_files(items: list[Obj], secret: str = "files", **mount: Any) -> Obj:
    volumes = {"volumes": [{"name": "keys", "secret": {"secretName": secret, "items": items}}]}
    return a_pod(volumes, volumeMounts=[{"name": "keys", "mountPath": "/root/.ssh", **mount}])


def test_files_of_an_ssh_folder_are_keys_too_and_sshd_is_at_its_usual_port(node: Node) -> None:
    node.volumes["keys"] = Volume(Path("/v/keys"), read_only=True, in_memory=True)
    body = node.body(with_files(FILES, subPath=".ssh"))
    for name in ("ssh_config", "sshd_config"):
        text = Path(at(body, "/etc/ssh").source, name).read_text()
        assert "Port 22\n" in text
        assert '"/root/.ssh/id_rsa"' in text


@pytest.mark.parametrize(
    "pod",
    [
        with_files(FILES[:1], subPath=".ssh"),
        with_files([]),
        with_files(FILES, subPath="elsewhere"),
        with_files(FILES, subPathExpr=".ssh"),
        with_files(FILES, "other", subPath=".ssh"),
    ],
    ids=["nobody may log in", "the files as they are", "another folder", "an expression", "another secret"],
)
def test_other_secrets_with_a_key_change_nothing(node: Node, pod: Obj) -> None:
    node.volumes["keys"] = Volume(Path("/v/keys"), read_only=True, in_memory=True)
    assert "/etc/ssh" not in {mount.target for mount in node.body(pod).mounts}


def test_where_all_pods_run_as_one_user_the_name_of_root_stands_for_it(tmp_path: Path) -> None:
    node = Node(tmp_path, uid=54321, gid=54321)
    node.volumes["ssh-auth"] = Volume(Path("/v/ssh"), read_only=True)
    lines = Path(at(node.body(with_keys("/root/.ssh")), "/etc/passwd").source).read_text().splitlines()
    found = [line.split(":")[:3] for line in lines if line.split(":")[2] in ("0", "54321")]
    assert [(name, uid) for name, _, uid in found] == [("user54321", "54321"), ("root", "54321")]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"command": ["a\0b"]}, "main.command[0]"),
        ({"args": ["x", "\0"]}, "main.args[1]"),
        ({"workingDir": "/\0"}, "main.workingDir"),
        ({"terminationMessagePath": "/\0"}, "main.terminationMessagePath"),
        ({"volumeMounts": [{"name": "v", "mountPath": "/\0"}]}, "main.volumeMounts[0].mountPath"),
        ({"livenessProbe": {"exec": {"command": ["\0"]}}}, "main.livenessProbe.exec.command[0]"),
    ],
)
def test_a_zero_byte_that_no_system_call_takes_is_a_config_error(fields: Obj, place: str) -> None:
    assert zero_byte({"name": "main"} | fields, "main") == place
