# SPDX-License-Identifier: Apache-2.0
"""Runs `tide operator` with its parsed flags until a signal ends it, and explains fatal errors.

Imported by `operator` only when needed.
"""

from __future__ import annotations

import asyncio
import math
import signal
from collections.abc import Sequence
from typing import Any

import click

from springtide.api.kinds.registry import RESOURCES
from springtide.controllers import operator
from springtide.controllers.options import Options, WebhookOptions
from springtide.controllers.prerequisites import MissingError
from springtide.event_loop.garbage_collection import collect_rarely
from springtide.kube import config, errors
from springtide.kube.leader import LeadershipLost

_COLLECT = 20_000
"""A collection over all cached jobs delays those that are being reconciled."""
_FORESEEN = (config.ConfigError, errors.ApiError, LeadershipLost, MissingError, OSError)


def options(
    *, webhook_port: int | None, webhook_service: str, webhook_url: str, webhook_must_answer: bool, **others: Any
) -> Options:
    others["kinds"] = _kinds(others["kinds"])
    if not math.isfinite(others["qps"]):
        raise click.UsageError("--kube-api-qps must be a number of requests; 0 is no limit")
    if webhook_port is None:
        for flag, given in (
            ("service", webhook_service),
            ("url", webhook_url),
            ("must-answer", webhook_must_answer),
        ):
            if given:
                raise click.UsageError(f"--webhook-{flag} is for --webhook-port PORT")
        return Options(**others)
    if webhook_service and webhook_url:
        raise click.UsageError("--webhook-service and --webhook-url are two ways to the same webhook: name one")
    if webhook_url and not webhook_url.startswith("https://"):
        raise click.UsageError(f"--webhook-url {webhook_url}: API servers ask over https:// alone")
    webhook = WebhookOptions(webhook_port, url=webhook_url, service=webhook_service, must_answer=webhook_must_answer)
    return Options(**others, webhook=webhook)


def _kinds(given: Sequence[str]) -> tuple[str, ...]:
    """The names of kinds in their own spelling, each once."""
    known = {each.kind.lower(): each.kind for each in RESOURCES}
    names = [name.strip() for words in given for name in words.split(",")]
    for name in names:
        if name.lower() not in known:
            raise click.UsageError(f"--kinds: there is no kind {name!r}; the kinds are {', '.join(known.values())}")
    return tuple(dict.fromkeys(known[name.lower()] for name in names))


def run(wanted: Options) -> None:
    collect_rarely(_COLLECT)
    try:
        asyncio.run(_until_ended(wanted))
    except (*_FORESEEN, ExceptionGroup) as error:
        foreseen = _first(error)
        if foreseen is None:
            raise
        raise click.ClickException(_explained(foreseen)) from None


async def _until_ended(wanted: Options) -> None:
    working = asyncio.create_task(operator.run(wanted))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, working.cancel)
    await asyncio.wait([working])
    if not working.cancelled():
        working.result()


def _first(error: BaseException) -> BaseException | None:
    """The first explainable error, which may be in an exception group."""
    if isinstance(error, BaseExceptionGroup):
        known = error.subgroup(_FORESEEN)
        return _first(known.exceptions[0]) if known is not None else None
    return error


def _explained(error: BaseException) -> str:
    if isinstance(error, errors.Unreachable):
        return f"the API server does not answer: {error}\nName its kubeconfig: tide operator --kubeconfig FILE"
    if isinstance(error, errors.Forbidden):
        return f"the operator lacks rights: {error.message}\nGive its user the right to do this"
    if isinstance(error, LeadershipLost):
        return f"another operator is active now, or the lease could not be renewed: {error}\nStart this one again"
    return str(error)
