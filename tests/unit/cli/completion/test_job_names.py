# SPDX-License-Identifier: Apache-2.0
"""Names offered by TAB where a command is about jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from springtide.cli.app import tide
from springtide.cli.completion import job_names
from springtide.kube import errors
from springtide.kube.blocking_transport import BlockingTransport
from springtide.kube.request import Request, Response

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: lab
contexts: [{name: lab, context: {cluster: c, user: u, namespace: vision}}, {name: live, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""
JOBS = b"""{"metadata": {"resourceVersion": "1"}, "items": [
  {"metadata": {"name": "bert", "namespace": "vision"}}, {"metadata": {"name": "gpt", "namespace": "vision"}}]}"""


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG", "KUBECONFIG", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def values(words: list[str], last: str) -> list[str]:
    return [item.value for item in ShellComplete(tide, {}, "tide", "_TIDE_COMPLETE").get_completions(words, last)]


@pytest.mark.parametrize(
    ("words", "last", "offered"),
    [
        (["list", "-T"], "", ["deepspeedjob", "etjob", "mpijob", "pytorchjob", "tfjob"]),
        (["submit"], "", ["etjob", "mpijob", "tfjob", "pytorchjob", "deepspeedjob"]),
        (["submit", "etjob", "--shell"], "", ["sh", "bash"]),
        (["submit", "tfjob"], "--ps-mem", ["--ps-memory", "--ps-memory-limit"]),
        (["delete"], "", []),
        (["delete", "-n"], "", []),
        (["logs", "bert", "-i"], "", []),
        (["delete", "--context"], "", []),
    ],
    ids=str,
)
def test_values_are_offered_and_no_cluster_is_no_error(words: list[str], last: str, offered: list[str]) -> None:
    assert values(words, last) == offered


@pytest.fixture
def asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a server is asked, which has two MPIJobs and nothing else."""
    (home / ".kube").mkdir()
    (home / ".kube/config").write_text(KUBECONFIG)
    targets: list[str] = []

    async def send(transport: BlockingTransport, request: Request) -> Response:
        targets.append(request.target)
        return Response(200, {}, JOBS) if "mpijobs" in request.target else Response(404, {}, b"{}")

    monkeypatch.setattr(BlockingTransport, "send", send)
    return targets


def test_jobs_are_those_of_the_namespace_and_the_type(asked: list[str]) -> None:
    assert values(["delete"], "") == ["bert", "gpt"]
    assert values(["delete", "gpt"], "") == ["bert"]
    assert values(["logs"], "b") == ["bert"]
    assert values(["logs", "-T", "tfjob"], "") == []
    asked.clear()
    assert values(["logs", "-n", "team", "-T", "mpi"], "") == ["bert", "gpt"]
    assert [target.partition("?")[0] for target in asked] == ["/apis/kubeflow.org/v1/namespaces/team/mpijobs"]


def test_contexts_are_those_of_the_kubeconfig(asked: list[str], home: Path) -> None:
    assert values(["list", "--context"], "l") == ["lab", "live"]
    (home / "other").write_text(KUBECONFIG.replace("live", "later"))
    assert values(["list", "--kubeconfig", str(home / "other"), "--context"], "la") == ["lab", "later"]


def test_a_server_that_does_not_answer_offers_nothing(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    async def send(transport: BlockingTransport, request: Request) -> Response:
        raise errors.Unreachable("no answer")

    monkeypatch.setattr(BlockingTransport, "send", send)
    assert values(["delete"], "") == []
    assert job_names.PATIENCE < 5
