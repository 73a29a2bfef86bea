# SPDX-License-Identifier: Apache-2.0
"""TF_CONFIG, byte for byte as upstream writes it, unless a row says what upstream has in its place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.api.builders import a_tfjob

from springtide.api.defaults.tfjob import defaulted
from springtide.jobs.kinds.tensorflow.adapter import TF_KIND
from springtide.jobs.kinds.tensorflow.tf_config import tf_config
from springtide.jobs.observed import Settings

PLAIN = Settings()
CHIEF = '"chief":["j-chief-0.ns.svc:2222"]'
EVALUATOR = '"evaluator":["j-evaluator-0.ns.svc:2222"]'
MASTER = '"master":["j-master-0.ns.svc:2222"]'
PS = '"ps":["j-ps-0.ns.svc:2222","j-ps-1.ns.svc:2222"]'
WORKER = '"worker":["j-worker-0.ns.svc:2222","j-worker-1.ns.svc:2222"]'
ALL = {"Worker": 2, "Evaluator": 1, "PS": 2, "Chief": 1}


def config(roles: Mapping[str, int], role: str, index: int = 0, settings: Settings = PLAIN, **spec: Any) -> str:
    return tf_config(defaulted(a_tfjob(roles, name="j", **spec)), role, index, settings)


def task(role: str, index: int = 0) -> str:
    return f'"task":{{"type":"{role}","index":{index}}}'


def test_the_example_of_the_users_document() -> None:
    raw = a_tfjob({"Ps": 1, "Worker": 2}, name="distributed-training")
    raw["metadata"]["namespace"] = "kubeflow"
    assert tf_config(defaulted(raw), "Worker", 0, PLAIN) == (
        '{"cluster":{"ps":["distributed-training-ps-0.kubeflow.svc:2222"],'
        '"worker":["distributed-training-worker-0.kubeflow.svc:2222",'
        '"distributed-training-worker-1.kubeflow.svc:2222"]},'
        '"task":{"type":"worker","index":0},"environment":"cloud"}'
    )


@pytest.mark.parametrize(
    ("roles", "role", "index", "cluster"),
    [
        (ALL, "Chief", 0, [CHIEF, EVALUATOR, PS, WORKER]),
        (ALL, "PS", 1, [CHIEF, EVALUATOR, PS, WORKER]),
        (ALL, "Worker", 1, [CHIEF, EVALUATOR, PS, WORKER]),
        (ALL, "Evaluator", 0, [CHIEF, EVALUATOR, PS, WORKER]),
        ({"Master": 1, "Worker": 2}, "Master", 0, [MASTER, WORKER]),
        ({"Worker": 2}, "Worker", 1, [WORKER]),
        ({"PS": 2}, "PS", 0, [PS]),
        ({"Worker": 2, "PS": 0}, "Worker", 0, ['"ps":[]', WORKER]),
    ],
)
def test_every_replica_knows_all_of_them_and_itself(
    roles: Mapping[str, int], role: str, index: int, cluster: list[str]
) -> None:
    wanted = f'{{"cluster":{{{",".join(cluster)}}},{task(role.lower(), index)},"environment":"cloud"}}'
    assert config(roles, role, index) == wanted


SERVERS = '"ps":["j-ps-0.ns.svc:2222","j-ps-1.ns.svc:2222"]'


@pytest.mark.parametrize(
    ("roles", "role", "index", "cluster"),
    [
        ({"PS": 2, "Worker": 2}, "Worker", 1, f'"worker":{{"1":"j-worker-1.ns.svc:2222"}},{SERVERS}'),
        ({"PS": 2, "Worker": 2}, "PS", 1, '"worker":{},"ps":["j-ps-1.ns.svc:2222"]'),
        ({"Worker": 2}, "Worker", 0, '"worker":{"0":"j-worker-0.ns.svc:2222"},"ps":null'),
        # Upstream gives a chief, a master and an evaluator `{"worker":{},"ps":[]}`, which is of no use (#1763).
        ({"Chief": 1, "PS": 2, "Worker": 2}, "Chief", 0, f'{CHIEF},"worker":{{}},{SERVERS}'),
        ({"Master": 1, "PS": 2, "Worker": 2}, "Master", 0, f'{MASTER},"worker":{{}},{SERVERS}'),
        ({"Evaluator": 1, "PS": 2, "Worker": 2}, "Evaluator", 0, f'{EVALUATOR},"worker":{{}},{SERVERS}'),
        ({"Chief": 1, "Worker": 1}, "Chief", 0, f'{CHIEF},"worker":{{}},"ps":null'),
    ],
)
def test_dynamic_workers_get_the_sparse_form(roles: Mapping[str, int], role: str, index: int, cluster: str) -> None:
    wanted = f'{{"cluster":{{{cluster}}},{task(role.lower(), index)}}}'
    assert config(roles, role, index, enableDynamicWorker=True) == wanted


@pytest.mark.parametrize(
    ("roles", "role"),
    [({"Worker": 1}, "Worker"), ({"Chief": 1}, "Chief"), ({"Worker": 1, "PS": 0}, "Worker")],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_lone_replica_gets_none(roles: Mapping[str, int], role: str, dynamic: bool) -> None:
    assert config(roles, role, enableDynamicWorker=dynamic) == ""
    job = defaulted(a_tfjob(roles, enableDynamicWorker=dynamic))
    (container,) = TF_KIND.pod(job, role, 0, PLAIN)["spec"]["containers"]
    assert "env" not in container


def test_each_role_may_have_a_port_of_its_own() -> None:
    raw = a_tfjob({"PS": 1, "Worker": 1}, name="j")
    ports = [{"name": "http", "containerPort": 80}, {"name": "tfjob-port", "containerPort": 3333}]
    raw["spec"]["tfReplicaSpecs"]["PS"]["template"] = {
        "spec": {"containers": [{"name": "tensorflow", "image": "i", "ports": ports}]}
    }
    cluster = json.loads(tf_config(defaulted(raw), "Worker", 0, PLAIN))["cluster"]
    assert cluster == {"ps": ["j-ps-0.ns.svc:3333"], "worker": ["j-worker-0.ns.svc:2222"]}


def test_a_cluster_may_have_a_domain_of_its_own() -> None:
    said = config({"Worker": 2}, "Worker", settings=Settings(cluster_domain="example.org"))
    assert json.loads(said)["cluster"]["worker"][1] == "j-worker-1.ns.svc.example.org:2222"


def test_it_overrides_the_users_own_and_only_in_the_container_that_trains() -> None:
    raw = a_tfjob({"Worker": 2}, name="j")
    own = [{"name": "TF_CONFIG", "value": "mine"}, {"name": "A", "value": "b"}]
    raw["spec"]["tfReplicaSpecs"]["Worker"]["template"] = {
        "spec": {
            "containers": [
                {"name": "log", "image": "i"},
                {"name": "tensorflow", "image": "i", "env": own},
            ]
        }
    }
    log, main = TF_KIND.pod(defaulted(raw), "Worker", 1, PLAIN)["spec"]["containers"]
    assert log == {"name": "log", "image": "i"}
    assert main["env"] == [*own, {"name": "TF_CONFIG", "value": config({"Worker": 2}, "Worker", 1)}]
