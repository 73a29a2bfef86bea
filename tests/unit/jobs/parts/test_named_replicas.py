# SPDX-License-Identifier: Apache-2.0
"""Names, labels, ports and Services of replicas that keep their names: users' tools select by them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.builders import a_pytorchjob, a_tfjob
from tests.unit.jobs.builders import pytorch, tensorflow
from tests.unit.jobs.simulated import Cluster

from springtide.api.defaults import pytorchjob, tfjob
from springtide.jobs.kinds.pytorch.adapter import PYTORCH_KIND
from springtide.jobs.kinds.tensorflow.adapter import TF_KIND
from springtide.jobs.observed import Settings

OPENED = {"name": "tfjob-port", "containerPort": 2222, "protocol": "TCP"}


def with_template(template: dict[str, Any], restart: str | None = None) -> dict[str, Any]:
    raw = a_tfjob({"Worker": 2}, name="j", restart=restart)
    raw["spec"]["tfReplicaSpecs"]["Worker"]["template"] = template
    return raw


def with_containers(*containers: dict[str, Any]) -> dict[str, Any]:
    return with_template({"spec": {"containers": list(containers)}})


def pod(raw: dict[str, Any], role: str = "Worker", index: int = 0) -> dict[str, Any]:
    return dict(TF_KIND.pod(tfjob.defaulted(raw), role, index, Settings()))


def services(cluster: Cluster) -> dict[str, dict[str, Any]]:
    cluster.reconcile()
    return {key.name: body for key, body in cluster.objects.items() if key.kind == "Service"}


def test_pods_have_the_labels_of_today_and_those_of_earlier_operators() -> None:
    labels = pod(a_tfjob({"PS": 2, "Worker": 2}, name="j"), "PS", 1)["metadata"]["labels"]
    assert labels == {
        "group-name": "kubeflow.org",
        "job-name": "j",
        "replica-type": "ps",
        "replica-index": "1",
        "training.kubeflow.org/job-name": "j",
        "training.kubeflow.org/operator-name": "tfjob-controller",
        "training.kubeflow.org/replica-type": "ps",
        "training.kubeflow.org/replica-index": "1",
        "springtide.dev/job": "j",
        "springtide.dev/kind": "TFJob",
        "springtide.dev/role": "PS",
        "springtide.dev/index": "1",
    }


@pytest.mark.parametrize(
    ("roles", "role", "index", "leads"),
    [
        ({"Chief": 1, "Worker": 2}, "Chief", 0, True),
        ({"Master": 1, "Worker": 2}, "Master", 0, True),
        ({"Chief": 1, "Worker": 2}, "Worker", 0, False),
        ({"PS": 1, "Worker": 2}, "Worker", 0, True),
        ({"PS": 1, "Worker": 2}, "Worker", 1, False),
        ({"PS": 1, "Worker": 2}, "PS", 0, False),
    ],
)
def test_the_replica_whose_log_users_look_at_has_a_role(
    roles: dict[str, int], role: str, index: int, leads: bool
) -> None:
    labels = pod(a_tfjob(roles), role, index)["metadata"]["labels"]
    assert (labels.get("job-role"), labels.get("training.kubeflow.org/job-role")) == (
        ("master",) * 2 if leads else (None,) * 2
    )


@pytest.mark.parametrize(
    ("roles", "role", "leads"),
    [
        ({"Master": 1, "Worker": 1}, "Master", True),
        ({"Master": 1, "Worker": 1}, "Worker", False),
        ({"Worker": 1}, "Worker", True),
    ],
)
def test_the_same_holds_for_pytorch(roles: dict[str, int], role: str, leads: bool) -> None:
    made = PYTORCH_KIND.pod(pytorchjob.defaulted(a_pytorchjob(roles)), role, 0, Settings())
    labels = made["metadata"]["labels"]
    assert labels["training.kubeflow.org/operator-name"] == "pytorchjob-controller"
    assert ("training.kubeflow.org/job-role" in labels) is leads


def test_pods_and_services_have_the_same_names() -> None:
    cluster = tensorflow({"Chief": 1, "PS": 2, "Worker": 1})
    found = services(cluster)
    assert sorted(found) == sorted(cluster.pods) == ["mnist-chief-0", "mnist-ps-0", "mnist-ps-1", "mnist-worker-0"]


def test_a_service_selects_the_pod_of_its_name() -> None:
    cluster = tensorflow({"Chief": 1, "PS": 2, "Worker": 3})
    for name, service in services(cluster).items():
        chosen = service["spec"]["selector"].items()
        assert [pod for pod, body in cluster.manifests.items() if chosen <= body["metadata"]["labels"].items()] == [
            name
        ]


def test_a_service_in_full() -> None:
    service = services(tensorflow({"Worker": 1}))["mnist-worker-0"]
    selector = {
        "training.kubeflow.org/job-name": "mnist",
        "training.kubeflow.org/operator-name": "tfjob-controller",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": "0",
    }
    ours = {"springtide.dev/job": "mnist", "springtide.dev/kind": "TFJob", "springtide.dev/role": "Worker"}
    assert service["metadata"]["labels"] == selector | ours
    assert service["spec"] == {
        "clusterIP": "None",
        "selector": selector,
        "publishNotReadyAddresses": True,
        "ports": [{"name": "tfjob-port", "port": 2222}],
    }


def test_the_masters_name_alone_resolves_only_when_it_is_ready() -> None:
    found = services(pytorch({"Master": 1, "Worker": 2}))
    early = {name: service["spec"]["publishNotReadyAddresses"] for name, service in found.items()}
    assert early == {"mnist-master-0": False, "mnist-worker-0": True, "mnist-worker-1": True}


@pytest.mark.parametrize(
    ("ports", "opened", "served"),
    [
        (None, [OPENED], [("tfjob-port", 2222)]),
        ([{"containerPort": 80}], [{"containerPort": 80}, OPENED], [("tfjob-port", 2222)]),
        (
            [{"name": "http", "containerPort": 80}],
            [{"name": "http", "containerPort": 80}, OPENED],
            [("http", 80), ("tfjob-port", 2222)],
        ),
        (
            [{"name": "tfjob-port", "containerPort": 99}],
            [{"name": "tfjob-port", "containerPort": 99}],
            [("tfjob-port", 99)],
        ),
    ],
)
def test_named_ports_of_the_container_that_trains_are_served(
    ports: list[dict[str, Any]] | None, opened: list[dict[str, Any]], served: list[tuple[str, int]]
) -> None:
    main = {"name": "tensorflow", "image": "i"} | ({} if ports is None else {"ports": ports})
    raw = with_containers({"name": "log", "image": "i", "ports": [{"name": "log", "containerPort": 1}]}, main)
    assert pod(raw)["spec"]["containers"][1]["ports"] == opened
    cluster = tensorflow({"Worker": 2}, name="j")
    cluster.raw["spec"] = raw["spec"]
    found = services(cluster)["j-worker-1"]["spec"]["ports"]
    assert [(port["name"], port["port"]) for port in found] == served


def test_kubectl_reads_the_container_that_trains_where_it_is_not_the_first() -> None:
    log, main = {"name": "log", "image": "i"}, {"name": "tensorflow", "image": "i"}
    annotations = pod(with_containers(log, main))["metadata"]["annotations"]
    assert annotations["kubectl.kubernetes.io/default-container"] == "tensorflow"
    assert annotations["springtide.dev/container"] == "tensorflow"
    assert pod(with_containers(main, log))["metadata"]["annotations"] == {"sidecar.istio.io/inject": "false"}


def test_an_annotation_of_the_user_has_precedence() -> None:
    key = "kubectl.kubernetes.io/default-container"
    containers = [{"name": "log", "image": "i"}, {"name": "tensorflow", "image": "i"}]
    raw = with_template({"metadata": {"annotations": {key: "log"}}, "spec": {"containers": containers}})
    annotations = pod(raw)["metadata"]["annotations"]
    assert (annotations[key], annotations["springtide.dev/container"]) == ("log", "tensorflow")


@pytest.mark.parametrize(
    ("policy", "of_pod"),
    [(None, "Never"), ("Never", "Never"), ("OnFailure", "OnFailure"), ("Always", "Always"), ("ExitCode", "Never")],
)
def test_the_roles_restart_policy_overrides_the_templates_with_a_warning(policy: str | None, of_pod: str) -> None:
    containers = [{"name": "tensorflow", "image": "i"}]
    raw = with_template({"spec": {"restartPolicy": "Always", "containers": containers}}, restart=policy)
    assert pod(raw)["spec"]["restartPolicy"] == of_pod
    assert [event.reason for event in TF_KIND.warnings(tfjob.defaulted(raw))] == ["SetPodTemplateRestartPolicy"]
    assert TF_KIND.warnings(tfjob.defaulted(a_tfjob({"Worker": 1}))) == ()


def test_the_ledger_has_a_name_of_its_own_for_each_kind() -> None:
    assert TF_KIND.shape(tfjob.defaulted(a_tfjob({"Worker": 1}))).config_name == "mnist-tfjob-ledger"
    shape = PYTORCH_KIND.shape(pytorchjob.defaulted(a_pytorchjob({"Worker": 1})))
    assert shape.config_name == "mnist-pytorchjob-ledger"


def test_scaling_selects_the_workers_as_upstream_does() -> None:
    cluster = pytorch({"Master": 1, "Worker": 2})
    cluster.settle()
    assert sorted(cluster.status.selector.split(",")) == [
        "training.kubeflow.org/job-name=mnist",
        "training.kubeflow.org/operator-name=pytorchjob-controller",
        "training.kubeflow.org/replica-type=worker",
    ]


@pytest.mark.parametrize(
    ("ports", "served"),
    [
        (
            [{"name": "a", "containerPort": 2222}, {"name": "tfjob-port", "containerPort": 2222}],
            [{"name": "tfjob-port", "port": 2222}],
        ),
        (
            [{"name": "u", "containerPort": 2222, "protocol": "UDP"}],
            [{"name": "u", "port": 2222, "protocol": "UDP"}, {"name": "tfjob-port", "port": 2222}],
        ),
    ],
)
def test_a_service_has_each_number_once_per_protocol(ports: list[dict[str, Any]], served: list[dict[str, Any]]) -> None:
    """Containers may give one number two names; Services may not."""
    cluster = tensorflow({"Worker": 2}, name="j")
    cluster.raw["spec"] = with_containers({"name": "tensorflow", "image": "i", "ports": ports})["spec"]
    assert services(cluster)["j-worker-1"]["spec"]["ports"] == served
