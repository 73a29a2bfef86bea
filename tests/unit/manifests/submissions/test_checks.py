# SPDX-License-Identifier: Apache-2.0
"""Problems of submissions are found before anything is written."""

from __future__ import annotations

from typing import Any, Final

import pytest
from tests.unit.manifests import flags

from springtide.manifests.submissions.checks import problems, unheeded
from springtide.manifests.submissions.submission import (
    Claim,
    CodeSync,
    Compute,
    ConfigFile,
    DeepSpeedJob,
    EtJob,
    HostDirectory,
    MpiJob,
    PyTorchJob,
    Spread,
    Submission,
    TfJob,
    TfRole,
    User,
)
from springtide.messages import Language, shown
from springtide.messages.zh import TRANSLATIONS

TYPES: Final = (EtJob, DeepSpeedJob, MpiJob, PyTorchJob, TfJob)
BASE: Final = {
    "name": "train",
    "namespace": "default",
    "command": "true",
    "image": "example.com/train:1",
    "user": User(name="me", id="1"),
}


def submission(type_: type[Any], **fields: Any) -> Submission:
    made: Submission = type_(**{**BASE, **fields})
    return made


@pytest.mark.parametrize("type_", TYPES)
def test_recorded_command_lines_have_no_problems(type_: type[Any]) -> None:
    found = {name: problems(each) for name, each in flags.submissions(type_).items()}
    assert {name: [str(each) for each in listed] for name, listed in found.items() if listed} == {}


IN_ALL_TYPES: Final[list[tuple[dict[str, Any], str, str]]] = [
    ({"name": ""}, "--name", "--name must be set"),
    ({"name": "a" * 50}, "--name", f"the len 50 of name {'a' * 50} is too long, it should be less than 49"),
    ({"name": "Train"}, "--name", "the job name must consist of lower case alphanumeric characters"),
    ({"name": "1a"}, "--name", "the job name must consist of"),
    ({"name": "a.b"}, "--name", "the job name must consist of"),
    ({"image": ""}, "--image", "must be set"),
    ({"gpus": -1}, "--gpus", "--gpus is invalid"),
    ({"workers": 0}, "--workers", "workers"),
    ({"retry": -1}, "--retry", "--retry: -1 is less than 0"),
    ({"image_pull_policy": "Sometimes"}, "--image-pull-policy", "'Sometimes' is none of its values"),
    ({"model_name": "m"}, "--model-source", "model version source must be specified when registering a model version"),
    ({"labels": {"app": "mine"}}, "--label", "the label app is written by submit"),
    ({"labels": {"a b": "c"}}, "--label", "'a b' does not have the form [DOMAIN/]NAME"),
    ({"labels": {"a": "b c"}}, "--label", "'b c' cannot be the value of a label"),
    ({"labels": {"a": "b" * 64}}, "--label", "cannot be the value of a label"),
    ({"annotations": {"/a": "b"}}, "--annotation", "does not have the form"),
    ({"node_selector": {"a": "b/"}}, "--selector", "cannot be the value of a label"),
    (
        {"code_sync": CodeSync(mode="hdfs", source="x")},
        "--sync-mode",
        "Unknown sync mode: hdfs, it should be git or rsync",
    ),
    (
        {"code_sync": CodeSync(mode="git", source="")},
        "--sync-source",
        "--syncSource should be set when syncMode is set",
    ),
    (
        {"claims": (Claim(name="a1", path="/d"),), "host_directories": (HostDirectory(host="/x", path="/d/"),)},
        "--data-dir",
        "--data-dir: two volumes are mounted at /d/",
    ),
    (
        {"claims": (Claim(name="a1", path="/d"),), "config_files": (ConfigFile(directory="/d", name="a", content=""),)},
        "--config-file",
        "two volumes are mounted at /d",
    ),
    ({"command": "echo \udce9"}, "", "command line: it has bytes that are not UTF-8"),
    ({"variables": {"A": "\udce9"}}, "", "command line: it has bytes that are not UTF-8"),
]


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(("fields", "flag", "arena"), IN_ALL_TYPES)
def test_flags_of_all_types_are_checked(type_: type[Any], fields: dict[str, Any], flag: str, arena: str) -> None:
    expect(submission(type_, **fields), flag, arena)


OF_TYPES: Final[list[tuple[type[Any], dict[str, Any], str, str]]] = [
    (EtJob, {"min_workers": 0}, "--min-workers", "--min-workers: 0 is less than 1"),
    (EtJob, {"min_workers": 3, "max_workers": 2, "workers": 3}, "--max-workers", "2 is less than 3"),
    (EtJob, {"min_workers": 2}, "--workers", "--workers: 1 is less than 2"),
    (EtJob, {"workers": 9, "max_workers": 8}, "--workers", "--workers: 9 is more than 8"),
    (EtJob, {"max_wait_time": -1}, "--max-wait-time", "--max-wait-time is invalid"),
    (EtJob, {"max_wait_time": 2**31}, "--max-wait-time", "--max-wait-time is invalid"),
    (EtJob, {"worker_restart_policy": "No"}, "--worker-restart-policy", "'No' is none of its values"),
    (EtJob, {"job_restart_policy": "Always"}, "--job-restart-policy", "'Always' is none of its values"),
    (EtJob, {"job_backoff_limit": -1}, "--job-backoff-limit", "-1 is less than 0"),
    (DeepSpeedJob, {"compute": Compute(cpu="x")}, "--cpu", "--cpu is invalid"),
    (MpiJob, {"compute": Compute(memory="1GiB")}, "--memory", "--memory is invalid"),
    (MpiJob, {"clean_policy": "Some"}, "--clean-task-policy", "unsupported cleanTaskPolicy Some"),
    (PyTorchJob, {"clean_policy": "Some"}, "--clean-task-policy", "unsupported cleanTaskPolicy Some"),
    (PyTorchJob, {"running_timeout": -1}, "--running-timeout", "--running-timeout is invalid"),
    (PyTorchJob, {"shared_memory": "much"}, "--share-memory", "--share-memory is invalid"),
    (PyTorchJob, {"processes_per_node": "0"}, "--nproc-per-node", "--nproc-per-node is invalid"),
    (TfJob, {"ps": 1, "image": "", "worker_role": TfRole(image="a")}, "--ps-image", "--image or --psImage must be set"),
    (TfJob, {"ps_gpus": -1}, "--ps-gpus", "--ps-gpus is invalid"),
    (TfJob, {"success_policy": "Never"}, "--success-policy", "unsupported successPolicy Never"),
    (TfJob, {"role_sequence": "w,x"}, "--role-sequence", "--role-sequence: 'x' is none of its values"),
    (
        TfJob,
        {"worker_role": TfRole(spread=Spread(policy="x"))},
        "--worker-affinity-policy",
        "'x' is none of its values",
    ),
    (TfJob, {"ps_role": TfRole(port=65536)}, "--ps-port", "65536 is more than 65535"),
    (
        TfJob,
        {"chief_role": TfRole(compute=Compute(cpu_limit="x"))},
        "--chief-cpu-limit",
        "--chief-cpu-limit is invalid",
    ),
]


@pytest.mark.parametrize(("type_", "fields", "flag", "arena"), OF_TYPES)
def test_flags_of_one_type_are_checked(type_: type[Any], fields: dict[str, Any], flag: str, arena: str) -> None:
    expect(submission(type_, **fields), flag, arena)


def expect(asked: Submission, flag: str, arena: str) -> None:
    (problem,) = problems(asked)
    assert (problem.flag, arena in problem.arena) == (flag, True), problem.arena
    for message in (problem.what, problem.cause, problem.hint):
        assert message.template in TRANSLATIONS
        assert shown(message, Language.ENGLISH)


def test_a_job_without_workers_may_have_a_chief() -> None:
    assert problems(submission(TfJob, workers=0, chief=True)) == []


@pytest.mark.parametrize(
    ("type_", "fields", "named"),
    [
        (EtJob, {"spot_instance": True}, "--spot-instance"),
        (TfJob, {"starting_timeout": 5}, "--starting-timeout"),
        (TfJob, {"role_sequence": "w,p"}, "--role-sequence"),
        (MpiJob, {"gang": True}, "--gang"),
        (MpiJob, {"gpu_topology": True}, "--gputopology"),
    ],
)
def test_flags_that_change_nothing_are_named(type_: type[Any], fields: dict[str, Any], named: str) -> None:
    (message,) = unheeded(submission(type_, **fields), embedded=True)
    assert shown(message, Language.ENGLISH).startswith(named)
    assert message.template in TRANSLATIONS
    assert unheeded(submission(type_), embedded=True) == []


def test_a_gang_is_not_named_on_other_clusters() -> None:
    assert unheeded(submission(MpiJob, gang=True, gpu_topology=True)) == []
