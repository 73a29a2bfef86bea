# SPDX-License-Identifier: Apache-2.0
"""`tide operator`: what its flags come down to, and what is said when it cannot go on."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

import click
import pytest
from click.testing import CliRunner, Result

from springtide.cli.operator import logs, running
from springtide.cli.operator.command import operator
from springtide.controllers import operator as controllers
from springtide.controllers.options import Options, WebhookOptions
from springtide.controllers.prerequisites import MissingError
from springtide.kube import config, errors
from springtide.kube.leader import LeadershipLost


def made_of(monkeypatch: pytest.MonkeyPatch, *flags: str) -> Options:
    found: list[Options] = []
    monkeypatch.setattr(running, "run", found.append)
    result = invoked(monkeypatch, *flags)
    assert result.exit_code == 0, result.output
    return found[0]


def invoked(monkeypatch: pytest.MonkeyPatch, *flags: str) -> Result:
    monkeypatch.setattr(logs, "begin", lambda form, *, verbose: None)
    monkeypatch.setattr("springtide.controllers.options.socket.gethostname", lambda: "here")
    return CliRunner().invoke(operator, list(flags))


def ended_by(monkeypatch: pytest.MonkeyPatch, run: Callable[[Options], Awaitable[None]]) -> Result:
    monkeypatch.setattr(controllers, "run", run)
    return invoked(monkeypatch)


def failing_with(error: Exception) -> Callable[[Options], Awaitable[None]]:
    async def run(wanted: Options) -> None:
        raise error

    return run


def test_without_flags_it_serves_all_namespaces_as_one_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEFLOW_NAMESPACE", raising=False)
    monkeypatch.delenv("CUSTOM_CLUSTER_DOMAIN", raising=False)
    assert made_of(monkeypatch) == Options(identity=f"here_{os.getpid()}")


def test_every_flag_has_its_option(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = (
        "--kubeconfig=k --context=c --namespace=n --workers=3 --kube-api-qps=2.5 --kube-api-burst=7 --no-leader-elect "
        "--lock-namespace=l --gang-scheduling=volcano --cluster-domain=cluster.local --kubectl-delivery-image=image "
        "--health-port=8080 --monitoring-port=0 --webhook-port=9443 --webhook-service=s --log-format=json --verbose "
        "--webhook-must-answer"
    )
    assert made_of(monkeypatch, *flags.split()) == Options(
        kubeconfig="k",
        context="c",
        namespace="n",
        workers=3,
        qps=2.5,
        burst=7,
        leader_elect=False,
        lock_namespace="l",
        identity=f"here_{os.getpid()}",
        gang_scheduler="volcano",
        cluster_domain="cluster.local",
        kubectl_image="image",
        health_port=8080,
        metrics_port=0,
        webhook=WebhookOptions(9443, service="s", must_answer=True),
    )


def test_upstream_s_word_for_workers_and_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEFLOW_NAMESPACE", "team")
    monkeypatch.setenv("CUSTOM_CLUSTER_DOMAIN", "cluster.example")
    made = made_of(monkeypatch, "--threadiness", "2")
    assert (made.workers, made.namespace, made.cluster_domain) == (2, "team", "cluster.example")
    assert made_of(monkeypatch, "--cluster-domain", "").cluster_domain == ""


@pytest.mark.parametrize(
    ("flags", "kinds"),
    [
        ("--kinds=TFJob,PyTorchJob", ("TFJob", "PyTorchJob")),
        ("--kinds=tfjob --kinds=MPIJOB,tfjob", ("TFJob", "MPIJob")),
        ("--enable-scheme=tfjob --enable-scheme=pytorchjob", ("TFJob", "PyTorchJob")),
    ],
)
def test_kinds_may_be_named_in_any_case_and_more_than_once(
    monkeypatch: pytest.MonkeyPatch, flags: str, kinds: tuple[str, ...]
) -> None:
    assert made_of(monkeypatch, *flags.split()).kinds == kinds


def test_a_webhook_elsewhere_is_named_by_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    made = made_of(monkeypatch, "--webhook-port=9443", "--webhook-url=https://here:9443")
    assert made.webhook == WebhookOptions(9443, url="https://here:9443")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--webhook-service=s", "--webhook-service is for --webhook-port PORT"),
        ("--webhook-url=https://here", "--webhook-url is for --webhook-port PORT"),
        ("--webhook-must-answer", "--webhook-must-answer is for --webhook-port PORT"),
        ("--webhook-port=1 --webhook-service=s --webhook-url=https://here", "name one"),
        ("--webhook-port=1 --webhook-url=http://here", "API servers ask over https:// alone"),
        ("--kube-api-qps=inf", "--kube-api-qps must be a number of requests"),
        ("--kinds=TFJob,JAXJob", "there is no kind 'JAXJob'; the kinds are MPIJob, PyTorchJob, TFJob"),
        ("--kinds=", "there is no kind ''; the kinds are MPIJob, PyTorchJob, TFJob"),
        ("--kube-api-qps=nan", "--kube-api-qps must be a number of requests"),
    ],
)
def test_flags_that_cannot_be_meant_are_a_mistake(monkeypatch: pytest.MonkeyPatch, flags: str, said: str) -> None:
    result = invoked(monkeypatch, *flags.split())
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MissingError("the cluster does not know MPIJob"), "the cluster does not know MPIJob"),
        (config.ConfigError("no cluster to talk to"), "no cluster to talk to"),
        (errors.Unreachable("nobody is there"), "the API server does not answer: nobody is there"),
        (errors.Forbidden("may not list pods"), "the operator lacks rights: may not list pods"),
        (LeadershipLost("a no longer leads"), "the lease could not be renewed: a no longer leads"),
        (OSError(98, "Address already in use"), "Address already in use"),
        (ExceptionGroup("two", [ExceptionGroup("one", [MissingError("nothing there")])]), "nothing there"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_can_be_foreseen_is_explained(monkeypatch: pytest.MonkeyPatch, error: Exception, said: str) -> None:
    result = ended_by(monkeypatch, failing_with(error))
    assert result.exit_code == 1
    assert said in result.output
    assert "Error: " in result.output


def test_what_nobody_foresaw_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    result = ended_by(monkeypatch, failing_with(ExceptionGroup("bug", [KeyError("x")])))
    assert isinstance(result.exception, ExceptionGroup)
    assert not isinstance(result.exception, click.ClickException)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    ended: list[str] = []

    async def run(wanted: Options) -> None:
        os.kill(os.getpid(), number)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("in order")

    result = ended_by(monkeypatch, run)
    assert result.exit_code == 0, result.output
    assert ended == ["in order"]
