# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with `arena`: one line on stderr that says what to do, exit code 1, and nothing is left behind."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.integration.cli.conftest import Tide, in_home

pytestmark = pytest.mark.clusters
JOB = ("submit", "etjob", "--name=bert", "--image=shell")


@pytest.fixture(scope="module")
def tide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tide]:
    """With a cluster that has an API alone: nothing runs."""
    with in_home(tmp_path_factory.mktemp("home")) as tide:
        tide.ok("up", "-d", "--port", "0", "--no-nodes", "--no-operator")
        yield tide
        tide.ok("down")


@pytest.fixture
def namespace(tide: Tide, request: pytest.FixtureRequest) -> Iterator[str]:
    """The default one, emptied."""
    yield "default"
    for name in json.loads(arena(tide, "list", "-o", "json").stdout):
        arena(tide, "delete", name["name"], "--type", name["trainer"])
    arena(tide, "delete", "bert", "--type", "etjob")


def arena(tide: Tide, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["arena", *words],
        env=tide.environment | variables,
        cwd=tide.home,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def refused(tide: Tide, *words: str, **variables: str) -> str:
    """The message of the one line."""
    done = arena(tide, *words, **variables)
    assert done.returncode == 1, done
    (message,) = re.findall(r'^time="[^"]+" level=error msg="(.*)"$', done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr
    return str(message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("get", "nope"), "Not found training job nope in namespace default,please use 'arena submit' to create it."),
        (("logs", "nope"), "Not found training job nope"),
        (("attach", "nope"), "Not found training job nope"),
        (("scaleout", "etjob", "--name=nope"), "Not found training job nope"),
        (("get", "a", "-T", "nope"), "unsupport job type,arena only supports: "),
        (("list", "-o", "name"), r"unknown output format,only support:\[wide|json|yaml\]"),
        (("top", "node", "nope"), "not found nodes: nope"),
        (("prune",), "you need to specify the relative duration live time"),
        (("submit", "etjob", "--name=a", "true"), "failed to validate command args: --image must be set"),
        ((*JOB, "--cpu=much", "true"), "failed to validate command args: --cpu is invalid"),
        ((*JOB, "--workers=0", "true"), "failed to validate command args: --workers: "),
        ((*JOB, "--min-workers=3", "--max-workers=2", "true"), "failed to validate command args: --m"),
        ((*JOB, "--data=a", "true"), "failed to validate command args: dataset a has incorrect format"),
        ((*JOB, "--priority=nope", "true"), "the priority nope doesn't exist"),
        ((*JOB, "--sync-mode=hdfs", "--sync-source=x", "true"), "failed to validate command args: .*hdfs"),
        (("submit", "etjob", "--name=Bert", "--image=i", "x"), "the job name must consist of lower case alphanumeric"),
        (("submit", "etjob", f"--name={'b' * 50}", "--image=i", "x"), "is too long, it should be less than 49"),
    ],
)
def test_a_mistake_is_named(tide: Tide, words: tuple[str, ...], message: str) -> None:
    assert re.search(message, refused(tide, *words))
    assert arena(tide, "list").stdout.count("\n") == 1


def test_a_name_is_used_once(tide: Tide, namespace: str) -> None:
    assert arena(tide, *JOB, "true").returncode == 0
    assert "the job bert is already exist, please delete it first. use 'arena delete bert'" in refused(
        tide, *JOB, "true"
    )
    assert "status: PENDING , is not RUNNING or SCALING" in refused(tide, "scaleout", "etjob", "--name=bert")
    assert "not found instances of the job bert" in refused(tide, "logs", "bert")
    assert arena(tide, "submit", "tfjob", "--name=bert", "--image=i", "true").returncode == 0
    assert "there are more than 1 training jobs with the same name bert" in refused(tide, "get", "bert")
    assert "use `arena delete bert --type` to delete the exact one" in refused(tide, "delete", "bert")


def test_an_unknown_job_is_skipped_by_delete(tide: Tide) -> None:
    done = arena(tide, "delete", "nope", "other")
    assert done.returncode == 0
    assert done.stderr.count("does not exist,skip to delete it") == 2


def test_without_a_cluster_it_says_how_to_get_one(tide: Tide, tmp_path: Path) -> None:
    message = refused(tide, "list", HOME=str(tmp_path), XDG_DATA_HOME=str(tmp_path))
    assert message.startswith("failed to create arena client: There is no cluster to use: ")
    assert "up -d" in message
    assert "--config FILE" in message


def changed(tide: Tide, path: Path, cluster: dict[str, Any], user: dict[str, Any]) -> str:
    """A kubeconfig with other fields."""
    found = yaml.safe_load(tide.place().kubeconfig.read_text())
    found["clusters"][0]["cluster"] |= cluster
    found["users"][0]["user"] = user or found["users"][0]["user"]
    path.write_text(yaml.safe_dump(found))
    return f"--config={path}"


def test_a_server_that_does_not_answer_is_named(tide: Tide, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = changed(tide, tmp_path / "config", {"server": f"https://127.0.0.1:{port}"}, {})
    assert re.search("The cluster does not answer: .*Connection refused", refused(tide, "list", config))


def test_credentials_that_are_not_accepted_are_named(tide: Tide, tmp_path: Path) -> None:
    config = changed(tide, tmp_path / "config", {}, {"token": "expired"})
    assert "The cluster does not know you: " in refused(tide, "list", config)


def test_a_reader_that_has_seen_enough_is_no_error_worth_a_traceback(tide: Tide) -> None:
    done = subprocess.run(
        ["sh", "-c", "arena submit etjob --help | head -n 1"],
        env=tide.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("Submit an elastic Horovod job\n", "")
