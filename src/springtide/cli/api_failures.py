# SPDX-License-Identifier: Apache-2.0
"""Errors of a cluster's API as users of commands on jobs are told of them."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from typing import Final

from springtide.cli.errors import ExitCode, Failure
from springtide.kube import config, errors
from springtide.messages import Text, text

TIMEOUT_VARIABLE: Final = "TIDE_REQUEST_TIMEOUT"


def explained(error: errors.ApiError, connection: config.Connection) -> Failure:
    """An API error as the user is told of it."""
    cause = Text("{cause}", {"cause": error.message})
    if isinstance(error, errors.Unreachable):
        if ended := _expired(connection):
            what = text("Your certificate for this cluster has expired.")
            cause = text("it was valid until {time}", time=f"{ended:%Y-%m-%d %H:%M:%S} UTC")
            hint = text("the credentials in the kubeconfig are missing, wrong or expired; get new ones")
            return Failure(what, cause, hint, ExitCode.NO_RIGHTS)
        if isinstance(error.__cause__, ssl.SSLError):
            what = text("The cluster's certificate, or yours, was not accepted.")
            hint = text("the kubeconfig may be of another cluster, or its certificate may have expired")
            return Failure(what, cause, hint, ExitCode.NO_RIGHTS)
        if isinstance(error.__cause__, TimeoutError):
            hint = text("is it overloaded? Wait longer with: {setting}", setting=f"{TIMEOUT_VARIABLE}=300")
            return Failure(text("The cluster has not answered in time."), cause, hint, ExitCode.TIMEOUT)
        hint = text("is it running? Try: {command}", command="kubectl cluster-info")
        return Failure(text("The cluster does not answer."), cause, hint)
    if isinstance(error, errors.Unauthorized):
        hint = text("the credentials in the kubeconfig are missing, wrong or expired; get new ones")
        return Failure(text("The cluster does not know you."), cause, hint, ExitCode.NO_RIGHTS)
    if isinstance(error, errors.Forbidden):
        hint = text("ask the cluster's administrator for this right")
        return Failure(text("You may not do this."), cause, hint, ExitCode.NO_RIGHTS)
    if isinstance(error, errors.Malformed):
        hint = text(
            "is the address that of a cluster, and not of a login page or a proxy? Try: {command}",
            command="kubectl cluster-info",
        )
        return Failure(text("What answers is no cluster."), cause, hint)
    code = ExitCode.NOT_FOUND if isinstance(error, errors.NotFound) else ExitCode.ERROR
    return Failure(text("The cluster rejects the request."), cause, code=code)


def _expired(connection: config.Connection) -> datetime | None:
    """When the client's certificate ended, if it has: servers just close the connection of such a client."""
    if not connection.certificate:
        return None
    # Imported here because only failures need it, and it is slow to import.
    from cryptography import x509  # noqa: PLC0415

    try:
        ended = x509.load_pem_x509_certificate(connection.certificate).not_valid_after_utc
    except ValueError:  # the certificate was good enough for TLS, which does not read all of it
        return None
    return ended if ended < datetime.now(UTC) else None
