# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from tests.unit.kube.fake_api import FakeApi

from springtide.controllers.prerequisites import MissingError
from springtide.controllers.webhook import certificates
from springtide.controllers.webhook.certificates import LIFE, RENEWAL, Bundle
from springtide.kube import errors
from springtide.kube.client import Client
from springtide.kube.request import Request
from springtide.kube.resources import SECRETS, Key, Obj

NOW = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)
SECRET = Key("mpi-operator", "springtide-webhook")
HOSTS = ("springtide.mpi-operator.svc", "127.0.0.1")


def now() -> datetime:
    return NOW


def signers(bundle: Bundle) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(bundle.ca)


def as_secret(bundle: Bundle) -> Obj:
    data = {"ca.crt": bundle.ca, "tls.crt": bundle.certificate, "tls.key": bundle.key}
    return {"data": {name: b64encode(value).decode() for name, value in data.items()}}


def test_a_certificate_is_for_its_hosts_and_signed_by_the_ca_beside_it() -> None:
    bundle = certificates.made(HOSTS, NOW)
    certificate = x509.load_pem_x509_certificate(bundle.certificate)
    (ca,) = signers(bundle)
    certificate.verify_directly_issued_by(ca)
    assert not certificates.due(bundle, HOSTS, NOW)
    assert certificates.read(as_secret(bundle)) == bundle


def test_it_is_due_before_it_ends_and_when_it_is_for_somebody_else() -> None:
    bundle = certificates.made(HOSTS, NOW)
    assert not certificates.due(bundle, HOSTS, NOW + LIFE - RENEWAL - timedelta(minutes=1))
    assert certificates.due(bundle, HOSTS, NOW + LIFE - RENEWAL + timedelta(minutes=1))
    assert certificates.due(bundle, ("other.mpi-operator.svc",), NOW)


def test_former_signers_are_trusted_until_they_run_out() -> None:
    first = certificates.made(HOSTS, NOW)
    second = certificates.made(HOSTS, NOW + timedelta(days=1), first.ca)
    assert signers(second)[1:] == signers(first)
    x509.load_pem_x509_certificate(second.certificate).verify_directly_issued_by(signers(second)[0])
    third = certificates.made(HOSTS, NOW + LIFE + timedelta(hours=1), second.ca)
    assert signers(third)[1:] == signers(second)[:1]


def test_former_signers_do_not_pile_up() -> None:
    bundle = certificates.made(HOSTS, NOW)
    for _ in range(5):
        bundle = certificates.made(HOSTS, NOW, bundle.ca)
    assert len(signers(bundle)) == 3


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"ca.crt": "", "tls.crt": "", "tls.key": ""},
        {"ca.crt": "!", "tls.crt": "!", "tls.key": "!"},
        {
            **as_secret(certificates.made(HOSTS, NOW))["data"],
            "tls.key": as_secret(certificates.made(HOSTS, NOW))["data"]["tls.key"],
        },
    ],
    ids=["nothing", "no fields", "empty fields", "no base64", "another's key"],
)
def test_a_secret_that_holds_something_else_is_not_used(data: dict[str, str] | None) -> None:
    assert certificates.read({"data": data}) is None


async def test_all_operators_show_the_same() -> None:
    client = Client(FakeApi())
    first = await certificates.shared(client, SECRET, HOSTS, now)
    assert await certificates.shared(client, SECRET, HOSTS, now) == first


async def test_of_two_that_make_it_at_once_one_wins() -> None:
    api = FakeApi()
    client, theirs = Client(api), certificates.made(HOSTS, NOW)

    def somebody_is_quicker(request: Request) -> None:
        if request.method == "POST":
            api.interceptor = None
            api.put(SECRETS, SECRET, **as_secret(theirs))

    api.interceptor = somebody_is_quicker
    assert await certificates.shared(client, SECRET, HOSTS, now) == theirs


async def test_a_damaged_or_ending_one_is_replaced_in_place() -> None:
    api = FakeApi()
    client = Client(api)
    old = certificates.made(HOSTS, NOW - LIFE + timedelta(days=30))
    for found in ({"data": {"ca.crt": "x"}}, as_secret(old)):
        api.put(SECRETS, SECRET, **found)
        new = await certificates.shared(client, SECRET, HOSTS, now)
        assert not certificates.due(new, HOSTS, NOW)
        assert await certificates.shared(client, SECRET, HOSTS, now) == new
    assert signers(new)[1:] == signers(old)


async def test_without_its_namespace_it_says_how_to_make_one() -> None:
    class NoNamespace(FakeApi):
        def _post(self, request: Request) -> None:  # type: ignore[override]
            raise errors.NotFound('namespaces "mpi-operator" not found', code=404)

    with pytest.raises(MissingError, match="kubectl create namespace mpi-operator"):
        await certificates.shared(Client(NoNamespace()), SECRET, HOSTS, now)
