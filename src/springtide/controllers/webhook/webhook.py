# SPDX-License-Identifier: Apache-2.0
"""The validating webhook: invalid jobs are rejected on submission, not reported by a condition afterwards.

Every operator answers, whether or not it is the leader. At its start and every hour, each ensures that the certificate
is valid, that the API server has the webhook's address and CA, and that it uses the same certificate as the others.
While that fails, jobs are not validated, unless the webhook must answer.

    async with judging(client, options, SERVED): ...

A cluster reaches it through a Service; an API server on the same machine, such as the embedded one, at a local port. An
operator of one namespace validates the jobs of that namespace only.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import tempfile
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from springtide.api.field_errors import FieldError
from springtide.api.kinds.resource import Resource as Definition
from springtide.api.validation import scalers, updates
from springtide.controllers.options import Options, WebhookOptions
from springtide.controllers.prerequisites import MissingError
from springtide.controllers.serving import EVERYWHERE, Handler, body_of, listening
from springtide.controllers.webhook import certificates
from springtide.controllers.webhook.admission import Judges, Judging, NoReview, answered
from springtide.controllers.webhook.certificates import Bundle
from springtide.jobs.served import Served
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.resources import Key, Obj, Resource

logger = logging.getLogger(__name__)

SECRET: Final = "springtide-webhook"
CONFIGURATION: Final = "springtide"
CONFIGURATIONS: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
UPKEEP: Final = 3600.0
"""Seconds between two checks of certificate and configuration."""
RETRY: Final = 60.0
"""The same after a failed check."""
_MANAGER: Final = "springtide-webhook"
_PATH: Final = "/validate"
_SECONDS: Final = 5
"""The API server's timeout for an answer."""
_LOOPBACK: Final = "127.0.0.1"
_FLAG: Final = "--webhook-port"


def _wall_clock() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def judging(
    client: Client, options: Options, served: Sequence[Served], clock: Callable[[], datetime] = _wall_clock
) -> AsyncIterator[None]:
    """Validates jobs while inside, if configured. The configuration stays when the operator exits: others may answer,
    and until one does `must_answer` decides what happens."""
    wanted = options.webhook
    if wanted is None:
        yield
        return
    judges = judges_of(served, options.max_workers)
    maintenance = _Maintenance(client, options, wanted, [each.definition for each in judges.values()], clock)
    handlers = {_PATH: _handler(client, judges)}
    async with listening(handlers, wanted.port, _FLAG, host=_listens_on(wanted), tls=maintenance.tls) as port:
        if wanted.must_answer:
            await maintenance.once(port)
        task = asyncio.create_task(maintenance.run(port), name="webhook maintenance")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait((task,))


def judges_of(served: Iterable[Served], max_workers: int) -> Judges:
    judges = [judge for each in served for judge in (_of_jobs(each, max_workers), *_of_scalers(each.definition))]
    return {each.definition.plural: each for each in judges}


def _of_jobs(served: Served, max_workers: int) -> Judging:
    scale = served.definition.scale

    def frozen(old: Obj, new: Obj) -> Sequence[FieldError]:
        if scale is None:
            return ()
        finished = updates.resized_when_finished(scale, old, new)
        return finished or (updates.resized_while_scaling(scale, old, new) if served.definition.scalers else ())

    def resizes(old: Obj, new: Obj) -> Sequence[str]:
        return updates.resizes(scale, old, new) if scale is not None and served.definition.scalers else ()

    judge, cautions, size_errors = served.judge(max_workers), served.cautions, served.size_errors
    return Judging(served.definition, judge, cautions, size_errors, frozen, resizes)


def _of_scalers(jobs: Definition) -> list[Judging]:
    return [Judging(each, scalers.errors, frozen=scalers.changed_when_started) for each in jobs.scalers]


def _handler(client: Client, judges: Judges) -> Handler:
    async def judge(request: web.BaseRequest) -> web.Response:
        try:
            body = await answered(await body_of(request), judges, client.find)
        except NoReview as error:
            return web.Response(status=400, text=f"{error}\n")
        except errors.ApiError as error:
            # Not a verdict: the configuration's failure policy applies.
            return web.Response(status=503, text=f"cannot read the job: {error}\n")
        return web.Response(body=body, content_type="application/json")

    return judge


class _Maintenance:
    """Keeps certificate and configuration up to date."""

    def __init__(
        self,
        client: Client,
        options: Options,
        wanted: WebhookOptions,
        definitions: Iterable[Definition],
        clock: Callable[[], datetime],
    ) -> None:
        self._client, self._options, self._wanted = client, options, wanted
        self._definitions, self._clock = tuple(definitions), clock
        self._bundle: Bundle | None = None
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_2

    async def run(self, port: int) -> None:
        while True:
            try:
                await self.once(port)
            except (errors.ApiError, MissingError) as error:
                logger.warning("Cannot set up the webhook, trying again in %g s: %s", RETRY, error)
                await asyncio.sleep(RETRY)
            else:
                await asyncio.sleep(UPKEEP)

    async def once(self, port: int) -> None:
        new = self._bundle is None
        await self._certify()
        await self._register(port)
        if new:
            logger.info("Serving the validating webhook on port %d", port)

    async def _certify(self) -> None:
        """Load the Secret's certificate; open connections keep the old one."""
        secret = Key(self._options.lock_namespace, SECRET)
        bundle = await certificates.shared(self._client, secret, (_name(self._options, self._wanted),), self._clock)
        if bundle != self._bundle:
            with tempfile.NamedTemporaryFile() as file:  # OpenSSL reads only from files; this one is private
                file.write(bundle.key + bundle.certificate)
                file.flush()
                self.tls.load_cert_chain(file.name)
            self._bundle = bundle

    async def _register(self, port: int) -> None:
        assert self._bundle is not None  # certified before
        wanted = configuration(self._options, self._wanted, self._definitions, self._bundle.ca, port)
        await self._client.apply(CONFIGURATIONS, wanted, field_manager=_MANAGER)


def configuration(
    options: Options, wanted: WebhookOptions, definitions: Iterable[Definition], ca: bytes, port: int
) -> Obj:
    """The webhook configuration for the API server."""
    name = f"{CONFIGURATION}-{options.namespace}" if options.namespace else CONFIGURATION
    scope = {"kubernetes.io/metadata.name": options.namespace} if options.namespace else {}
    return CONFIGURATIONS.describe(Key("", name)) | {
        "webhooks": [
            {
                "name": f"{definition.plural}.springtide.dev",
                "clientConfig": _client_config(options, wanted, port) | {"caBundle": b64encode(ca).decode()},
                "rules": [_rule(definition)],
                "namespaceSelector": {"matchLabels": scope},
                "failurePolicy": "Fail" if wanted.must_answer else "Ignore",
                "matchPolicy": "Equivalent",
                "sideEffects": "None",
                "timeoutSeconds": _SECONDS,
                "admissionReviewVersions": ["v1"],
            }
            for definition in definitions
        ]
    }


def _rule(definition: Definition) -> Obj:
    scaled = [f"{definition.plural}/scale"] if definition.scale else []
    return {
        "apiGroups": [definition.group],
        "apiVersions": [version.name for version in definition.versions],
        "operations": ["CREATE", "UPDATE"],
        "resources": [definition.plural, *scaled],
        "scope": "Namespaced",
    }


def _client_config(options: Options, wanted: WebhookOptions, port: int) -> Obj:
    if wanted.service:
        return {"service": {"namespace": options.lock_namespace, "name": wanted.service, "path": _PATH, "port": 443}}
    return {"url": (wanted.url or f"https://{_LOOPBACK}:{port}").rstrip("/") + _PATH}


def _name(options: Options, wanted: WebhookOptions) -> str:
    """The host name that the API server connects to, and that the certificate must have."""
    if wanted.service:
        return f"{wanted.service}.{options.lock_namespace}.svc"
    return urlsplit(wanted.url).hostname or _LOOPBACK


def _listens_on(wanted: WebhookOptions) -> str:
    """Reachable from outside only if the API server is."""
    local = not wanted.service and not wanted.url
    return _LOOPBACK if local or urlsplit(wanted.url).hostname == _LOOPBACK else EVERYWHERE
