# SPDX-License-Identifier: Apache-2.0
"""The API server's address and our credentials: from a kubeconfig, from a service account, or given directly.

A kubeconfig whose user has fixed credentials is read here. Exec plugins and OIDC tokens are left to
`kubernetes_asyncio.config`, imported only for such users: it has thousands of generated classes and takes a second or
two (see docs/decisions/0003-static-kubeconfigs.md).
"""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from springtide.kube import kubeconfig as kubeconfigs

if TYPE_CHECKING:
    from kubernetes_asyncio.config.kube_config import KubeConfigLoader

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_RELOAD = 60.0
"""Seconds after which a token is read again: bound tokens in files are rotated, exec credentials expire."""

Headers = Mapping[str, str]


class ConfigError(Exception):
    """There is no usable configuration; the message states what was looked for."""


async def _nobody() -> Headers:
    return {}


@dataclass(frozen=True, slots=True)
class Connection:
    server: str
    """`https://host:port`, without a slash at the end."""
    ssl: ssl.SSLContext | bool = True
    credentials: Callable[[], Awaitable[Headers]] = _nobody
    """Called before every request, so it must be fast if nothing has changed."""
    namespace: str = "default"
    """The namespace of the context."""
    server_name: str = ""
    """The name to verify the certificate against if it is not the server's host."""
    proxy: str = ""
    certificate: bytes = b""
    """The client's, as PEM, where it is known."""


def trusting(ca: str | bytes = b"", *, cert_file: str = "", key_file: str = "") -> ssl.SSLContext:
    """A TLS context with this CA (PEM) and this client certificate; without a CA, with the system's CAs."""
    data = ca.decode() if isinstance(ca, bytes) else ca
    context = ssl.create_default_context(cadata=data or None)
    # The default since Python 3.13; many clusters' own CAs lack the extensions that it requires.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if cert_file:
        context.load_cert_chain(cert_file, key_file or None)
    return context


def bearer(token: str) -> Callable[[], Awaitable[Headers]]:
    """A token that never changes."""
    return _fixed(f"Bearer {token}")


def _fixed(authorization: str) -> Callable[[], Awaitable[Headers]]:
    headers = {"Authorization": authorization}

    async def credentials() -> Headers:
        return headers

    return credentials


class Reloaded:
    """Credentials that are fetched again once they are `TOKEN_RELOAD` old, by one request while the others wait."""

    def __init__(self, fetch: Callable[[], Awaitable[Headers]]) -> None:
        self._fetch = fetch
        self._headers: Headers | None = None
        self._due = 0.0
        self._lock = asyncio.Lock()

    async def __call__(self) -> Headers:
        loop = asyncio.get_running_loop()
        if self._headers is not None and loop.time() < self._due:
            return self._headers
        async with self._lock:
            if self._headers is None or loop.time() >= self._due:
                self._headers = await self._fetch()
                self._due = loop.time() + TOKEN_RELOAD
            return self._headers


def _token_file(path: Path) -> Callable[[], Awaitable[Headers]]:
    def read() -> str:  # a few bytes once a minute: not worth a thread
        try:
            return path.read_text().strip()
        except OSError as error:
            raise ConfigError(f"cannot read the token in {path}: {error.strerror}") from error

    async def fetch() -> Headers:
        return {"Authorization": f"Bearer {read()}"}

    return Reloaded(fetch)


async def discover(kubeconfig: str = "", context: str = "") -> Connection:
    """In kubectl's order: the given file, `$KUBECONFIG`, `~/.kube/config`, then the pod's service account."""
    paths = kubeconfig or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    if kubeconfig or kubeconfigs.existing(paths):
        return await from_kubeconfig(paths, context)
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster()
    raise ConfigError(f"no cluster to talk to: {paths} does not exist and this process does not run in a pod")


async def from_kubeconfig(paths: str, context: str = "") -> Connection:
    """The current or named context of one file, or of several merged (`$KUBECONFIG` syntax)."""
    try:
        choice = kubeconfigs.read(paths).choose(context)
        if any(field in choice.user for field in ("as", "as-uid", "as-groups", "as-user-extra")):
            # Ignoring impersonation would mean to act with other rights than intended.
            raise ValueError("its user asks for impersonation, which is not supported")
        if choice.has_static_user:
            return _static(choice)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"cannot use kubeconfig {paths}: {error}") from error
    return await _from_library(paths, choice)


def _static(choice: kubeconfigs.Choice) -> Connection:
    cluster, server = choice.cluster, str(choice.cluster.get("server") or "")
    if not server:
        raise ValueError("its cluster has no server")
    return Connection(
        server=(server if "://" in server else f"http://{server}").rstrip("/"),
        ssl=_static_tls(cluster, choice.user),
        credentials=_static_credentials(choice.user),
        namespace=choice.namespace,
        server_name=cluster.get("tls-server-name") or "",
        proxy=cluster.get("proxy-url") or "",
        certificate=kubeconfigs.content(choice.user, "client-certificate"),
    )


def _static_tls(cluster: kubeconfigs.Entry, user: kubeconfigs.Entry) -> ssl.SSLContext:
    files = {}
    with ExitStack() as stack:
        for field in ("client-certificate", "client-key"):
            if data := kubeconfigs.content(user, field):
                # OpenSSL reads certificates from files only; these are private and deleted at once.
                file = stack.enter_context(tempfile.NamedTemporaryFile())
                file.write(data)
                file.flush()
                files[field] = file.name
        ca = kubeconfigs.content(cluster, "certificate-authority")
        context = trusting(ca, cert_file=files.get("client-certificate", ""), key_file=files.get("client-key", ""))
    return _unverified(context) if cluster.get("insecure-skip-tls-verify") else context


def _static_credentials(user: kubeconfigs.Entry) -> Callable[[], Awaitable[Headers]]:
    if path := user.get("tokenFile"):  # before `token`, as in client-go: files are rotated, tokens expire
        return _token_file(Path(path))
    if token := user.get("token"):
        return bearer(str(token))
    if user.get("username"):
        pair = f"{user['username']}:{user.get('password') or ''}"
        return _fixed(f"Basic {b64encode(pair.encode()).decode()}")
    return _nobody


async def _from_library(paths: str, choice: kubeconfigs.Choice) -> Connection:
    # Imported here because it is slow; see above.
    from kubernetes_asyncio.client import Configuration  # noqa: PLC0415
    from kubernetes_asyncio.config import ConfigException, load_kube_config  # noqa: PLC0415

    settings = Configuration()
    try:
        # The context by name: of several files, the library takes the last one's current context, kubectl the first's.
        loader = await load_kube_config(config_file=paths, context=choice.context, client_configuration=settings)
    except (ConfigException, OSError, TypeError, AttributeError, AssertionError) as error:
        # The library fails with such errors on incomplete entries.
        raise ConfigError(f"cannot use kubeconfig {paths}: {error}") from error
    return Connection(
        server=str(settings.host).rstrip("/"),
        ssl=_tls(settings),
        credentials=_from_loader(loader),
        namespace=choice.namespace,
        server_name=settings.tls_server_name or "",
        proxy=settings.proxy or "",
    )


def in_cluster(account: Path = SERVICE_ACCOUNT, environ: Mapping[str, str] = os.environ) -> Connection:
    """The service account that is mounted into a pod. Its token is read again, as the kubelet rotates it."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "443")
    token_file, ca_file, namespace_file = account / "token", account / "ca.crt", account / "namespace"
    missing = [str(path) for path in (token_file, ca_file) if not path.is_file()]
    if not host or missing:
        raise ConfigError(f"not inside a pod: {', '.join(missing) or 'KUBERNETES_SERVICE_HOST'} is missing")

    return Connection(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        ssl=trusting(ca_file.read_text()),
        credentials=_token_file(token_file),
        namespace=namespace_file.read_text().strip() if namespace_file.is_file() else "default",
    )


def _tls(settings: Any) -> ssl.SSLContext:
    ca = Path(settings.ssl_ca_cert).read_bytes() if settings.ssl_ca_cert else b""
    context = trusting(ca, cert_file=settings.cert_file or "", key_file=settings.key_file or "")
    return context if settings.verify_ssl else _unverified(context)


def _unverified(context: ssl.SSLContext) -> ssl.SSLContext:
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _from_loader(loader: KubeConfigLoader) -> Callable[[], Awaitable[Headers]]:
    """The credentials of the user entry's exec plugin or auth provider."""

    async def fetch() -> Headers:
        await loader._load_authentication()
        token = getattr(loader, "token", "")
        return {"Authorization": token} if token else {}

    return Reloaded(fetch)
