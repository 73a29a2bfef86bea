# SPDX-License-Identifier: Apache-2.0
"""The cluster of a command on jobs: the options that choose it, and requests to it.

    @click.command("list")
    @on_cluster(all_namespaces=True)
    def list_(target: Target) -> None:
        found = target.talk(lambda client: client.list(PODS, Scope(target.namespace)))

The cluster is that of `--kubeconfig` and `--context`; without them that of $KUBECONFIG or ~/.kube/config, as for
kubectl; without those files the embedded cluster of this machine, if exactly one runs; in a pod the pod's own cluster.

A request that is not answered ends the command after a minute, or after $TIDE_REQUEST_TIMEOUT seconds.
"""

from __future__ import annotations

import asyncio
import functools
import os
import shlex
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeVar

import click

from springtide.cli import places
from springtide.cli.api_failures import TIMEOUT_VARIABLE, explained
from springtide.cli.completion import job_names
from springtide.cli.errors import ExitCode, Failure
from springtide.kube import blocking_transport, config, errors, kubeconfig
from springtide.kube.client import Client
from springtide.kube.transport import REQUEST_TIMEOUT
from springtide.local.datadir import DataDir
from springtide.messages import Text, text

T = TypeVar("T")
_LONGEST: Final = 86400.0


@dataclass(frozen=True, slots=True)
class Target:
    """A cluster, and the namespace in it."""

    connection: config.Connection
    namespace: str
    """Empty: all."""
    embedded: str = ""
    """The name of the embedded cluster that was found without any kubeconfig."""

    def talk(self, conversation: Callable[[Client], Awaitable[T]], *, streams: bool = False) -> T:
        """Runs a conversation with the cluster's API; `streams` where requests run at the same time."""

        async def connected() -> T:
            async with self.client(streams=streams) as client:
                return await conversation(client)

        if streams:
            return self.guarded(connected)
        with _interruptible():
            return self.guarded(connected)

    def client(self, *, streams: bool = False) -> Client:
        timeout = request_timeout()
        if streams or not blocking_transport.suits(self.connection):
            return Client.over_http(self.connection, timeout)
        return Client(blocking_transport.BlockingTransport(self.connection, timeout))

    def guarded(self, run: Callable[[], Awaitable[T]]) -> T:
        """An error of the API ends the command with the server's message, a cause and a hint."""

        async def awaited() -> T:
            return await run()

        try:
            return asyncio.run(awaited())
        except config.ConfigError as error:  # credentials that are fetched with the first request
            raise no_cluster(str(error)) from None
        except errors.ApiError as error:
            raise explained(error, self.connection) from None


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends a request at once. asyncio would wait for the task's next step, and a server that hangs keeps a
    blocking request from it; it leaves a handler that is not the default one alone."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def on_cluster(*, all_namespaces: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds the options to a command, which gets the `Target` as first argument."""

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_target(*args: Any, namespace: str, kubeconfig: str, context: str, **options: Any) -> Any:
            everywhere = options.pop("everywhere", False)
            target = found(kubeconfig, context, namespace)
            if everywhere:
                target = Target(target.connection, "", target.embedded)
            return command(target, *args, **options)

        wrapped: Callable[..., Any] = with_target
        if all_namespaces:
            wrapped = click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="In all namespaces.")(
                wrapped
            )
        return cluster_options(wrapped)

    return decorated


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--namespace`, `--context` and `--kubeconfig` to a command, which gets their values."""
    for option in (
        click.option(
            "--kubeconfig",
            default="",
            metavar="FILE",
            shell_complete=job_names.files,
            help="The kubeconfig file of the cluster.",
        ),
        click.option(
            "--context",
            default="",
            metavar="NAME",
            shell_complete=job_names.contexts,
            help="The context in the kubeconfig.",
        ),
        click.option(
            "-n",
            "--namespace",
            default="",
            metavar="NAME",
            shell_complete=job_names.namespaces,
            help="The namespace.  [default: the context's]",
        ),
    ):
        command = option(command)
    return command


def found(kubeconfig_path: str = "", context: str = "", namespace: str = "") -> Target:
    try:
        connection, embedded = asyncio.run(_connection(kubeconfig_path, context))
    except config.ConfigError as error:
        raise no_cluster(str(error)) from None
    return Target(connection, namespace or connection.namespace, embedded)


async def _connection(kubeconfig_path: str, context: str) -> tuple[config.Connection, str]:
    if not kubeconfig_path and not context and not has_kubeconfig() and (name := _only_embedded()):
        return await config.from_kubeconfig(str(DataDir(places.clusters() / name).kubeconfig)), name
    return await config.discover(kubeconfig_path, context), ""


def request_timeout() -> float:
    """Seconds; Failure for a variable that is no such number."""
    given = os.environ.get(TIMEOUT_VARIABLE, "")
    try:
        seconds = float(given) if given else REQUEST_TIMEOUT
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < _LONGEST:
        raise Failure(
            text("{variable}={value} is no number of seconds.", variable=TIMEOUT_VARIABLE, value=given),
            hint=text("write one, such as {example}", example=f"{TIMEOUT_VARIABLE}=300"),
            code=ExitCode.USAGE,
        )
    return seconds


def has_kubeconfig() -> bool:
    """Whether kubectl would have a context to use."""
    paths = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    if not kubeconfig.existing(paths):
        return False
    try:
        return bool(kubeconfig.read(paths).current)
    except (OSError, ValueError):
        return True  # a broken file is reported by whatever reads it next


def embedded_clusters() -> list[str]:
    """The names of the embedded clusters that run."""
    return [name for name in places.cluster_names() if DataDir(places.clusters() / name).is_running()]


def _only_embedded() -> str:
    running = embedded_clusters()
    return running[0] if len(running) == 1 else ""


def no_cluster(cause: str) -> Failure:
    running = embedded_clusters()
    if len(running) > 1:
        command = f"export KUBECONFIG={shlex.quote(str(DataDir(places.clusters() / running[0]).kubeconfig))}"
        hint = text("{number} embedded clusters run; choose one with: {command}", number=len(running), command=command)
    else:
        hint = text(
            "start one on this machine with: {command}, or name another's kubeconfig with --kubeconfig FILE",
            command=f"{places.program()} up -d",
        )
    return Failure(text("There is no cluster to use."), Text("{cause}", {"cause": cause}), hint)
