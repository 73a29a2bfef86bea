# SPDX-License-Identifier: Apache-2.0
"""Jobs as JSON and YAML: Arena's documents, and ours."""

from __future__ import annotations

import json

import pytest
import yaml
from tests.unit.views.builders import CREATED, a_job, a_pod, a_role, at, stamp

from springtide.views.jobs import JobView, job_view
from springtide.views.pages.documents import arena_document, arena_yaml, document
from springtide.views.pages.formats import json_text, yaml_text


def a_view() -> JobView:
    job = a_job(
        roles={"launcher": a_role(priority="high"), "worker": a_role(1, gpus=2)},
        state="Running",
        workers="1/1",
        explanation="The job runs with 1 worker.",
        startTime=stamp(2),
        minReplicas=1,
        progress={"step": 40, "loss": "0.25", "ranks": 2, "updateTime": stamp(9)},
    )
    return job_view(job, [a_pod(job, "launcher", started=8), a_pod(job, "worker", 0, gpus=2, phase="Pending", node="")])


ARENA = """\
{
    "uuid": "uid-bert",
    "name": "bert",
    "namespace": "default",
    "duration": "618s",
    "status": "RUNNING",
    "trainer": "etjob",
    "tensorboard": "http://10.0.0.1:30001",
    "chiefName": "bert-launcher",
    "instances": [
        {
            "ip": "10.1.0.1",
            "status": "Running",
            "name": "bert-launcher",
            "age": "610s",
            "node": "node-a",
            "nodeIP": "ip-of-node-a",
            "chief": true,
            "requestGPUs": 0,
            "gpuMetrics": {},
            "creationTimestamp": 1735787045
        },
        {
            "ip": "",
            "status": "Pending",
            "name": "bert-worker-0",
            "age": "618s",
            "node": "N/A",
            "nodeIP": "N/A",
            "chief": false,
            "requestGPUs": 2,
            "gpuMetrics": {},
            "creationTimestamp": 1735787045
        }
    ],
    "priority": "high",
    "requestGPUs": 2,
    "allocatedGPUs": 0,
    "creationTimestamp": 1735787045,
    "modelName": "",
    "modelVersion": "",
    "modelSource": ""
}"""


def test_arenas_document_is_written_as_arena_writes_it() -> None:
    assert int(CREATED.timestamp()) == 1735787045
    assert json_text(arena_document(a_view(), at(618), "http://10.0.0.1:30001")) == ARENA


def test_a_job_without_pods_has_empty_ones() -> None:
    found = arena_document(job_view(a_job()), at(0))
    assert (found["chiefName"], found["instances"], found["priority"]) == ("", [], "N/A")
    assert json_text([]) == "[]"


def test_ours_has_arenas_fields_and_more() -> None:
    ours = document(a_view(), at(618), "http://10.0.0.1:30001")
    arenas = json.loads(ARENA)
    assert list(ours)[: len(arenas)] == list(arenas)
    assert {name: value for name, value in ours.items() if name in arenas and name != "instances"} == {
        name: value for name, value in arenas.items() if name != "instances"
    }
    assert [each.items() >= other.items() for each, other in zip(ours["instances"], arenas["instances"], strict=True)]
    assert {name: value for name, value in ours.items() if name not in arenas} == {
        "kind": "TrainingJob",
        "state": "Running",
        "explanation": "The job runs with 1 worker.",
        "workers": "1/1",
        "size": 1,
        "minSize": 1,
        "maxSize": None,
        "node": "node-a",
        "nodeIP": "ip-of-node-a",
        "created": "2025-01-02T03:04:05Z",
        "started": "2025-01-02T03:04:07Z",
        "ended": None,
        "progress": {"step": 40, "loss": "0.25", "ranks": 2, "updated": "2025-01-02T03:04:14Z"},
    }


def test_yaml_has_the_spelling_of_arenas() -> None:
    text = yaml_text([arena_yaml(arena_document(a_view(), at(618)))])
    lines = text.splitlines()
    assert lines[:9] == [
        "- uuid: uid-bert",
        "  name: bert",
        "  namespace: default",
        "  duration: 618s",
        "  status: RUNNING",
        "  trainer: etjob",
        '  tensorboard: ""',
        "  chiefName: bert-launcher",
        "  instances:",
    ]
    assert lines[9:12] == ["  - ip: 10.1.0.1", "    status: Running", "    name: bert-launcher"]
    assert lines[-3:] == ['  modelname: ""', '  modelversion: ""', '  modelsource: ""']
    assert "    gpuMetrics: {}" in lines


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("", '""'),
        ("true", '"true"'),
        ("12", '"12"'),
        ("2025-01-02", '"2025-01-02"'),
        ("N/A", "N/A"),
        ("Init:0/1", "Init:0/1"),
        ("训练", "训练"),
        ("a: b", "'a: b'"),
    ],
)
def test_texts_are_quoted_where_yaml_reads_something_else(value: str, written: str) -> None:
    assert yaml_text({"a": value}) == f"a: {written}\n"
    assert yaml.safe_load(yaml_text({"a": value})) == {"a": value}


def test_json_is_escaped_as_go_does() -> None:
    assert json_text({"a": "<b> & 训"}) == '{\n    "a": "\\u003cb\\u003e \\u0026 训"\n}'
