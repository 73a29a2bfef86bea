# SPDX-License-Identifier: Apache-2.0
"""Which cluster a command on jobs uses, and how errors of its API are reported."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from springtide.cli import connecting, places
from springtide.cli.api_failures import explained
from springtide.cli.connecting import Target, on_cluster
from springtide.cli.errors import ExitCode, Failure
from springtide.kube import errors
from springtide.kube.config import Connection
from springtide.local.datadir import DataDir

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: {context}
contexts: [{{name: one, context: {{cluster: c, namespace: team}}}}, {{name: two, context: {{cluster: d}}}}]
clusters: [{{name: c, cluster: {{server: "http://c:1"}}}}, {{name: d, cluster: {{server: "http://d:1"}}}}]
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def kubeconfig(path: Path, context: str = "one") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(KUBECONFIG.format(context=context or '""'))
    return path


def running(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Embedded clusters of these names run."""
    for name in names:
        place = DataDir(places.clusters() / name)
        kubeconfig(place.kubeconfig, "two")
        (place.path / "cluster.json").write_text("{}")
    monkeypatch.setattr(DataDir, "is_running", lambda self: self.path.name in names)


def test_a_kubeconfig_s_context_names_cluster_and_namespace(home: Path) -> None:
    target = connecting.found(str(kubeconfig(home / "mine")))
    assert (target.connection.server, target.namespace, target.embedded) == ("http://c:1", "team", "")
    target = connecting.found(str(home / "mine"), "two", "other")
    assert (target.connection.server, target.namespace) == ("http://d:1", "other")


def test_kubectl_s_own_configuration_comes_before_the_embedded_cluster(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig(home / ".kube" / "config")
    running(monkeypatch, "springtide")
    assert connecting.found().connection.server == "http://c:1"


@pytest.mark.parametrize("context", [None, ""], ids=["no kubeconfig", "no context in it"])
def test_the_only_embedded_cluster_is_found_without_a_word(
    home: Path, monkeypatch: pytest.MonkeyPatch, context: str | None
) -> None:
    if context is not None:
        kubeconfig(home / ".kube" / "config", context)
    running(monkeypatch, "springtide")
    target = connecting.found()
    assert (target.connection.server, target.embedded) == ("http://d:1", "springtide")


def test_of_several_embedded_clusters_none_is_guessed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running(monkeypatch, "a", "b")
    with pytest.raises(Failure) as failure:
        connecting.found()
    assert "2 embedded clusters run; choose one with: export KUBECONFIG=" in "\n".join(failure.value.lines())


@pytest.mark.usefixtures("home")
def test_without_any_cluster_the_next_step_is_named() -> None:
    with pytest.raises(Failure) as failure:
        connecting.found()
    what, cause, hint = failure.value.lines()
    assert what == "error: There is no cluster to use."
    assert cause.startswith("cause: no cluster to talk to: ")
    assert "up -d" in hint


@pytest.mark.usefixtures("home")
def test_a_kubeconfig_that_cannot_be_used_is_named() -> None:
    with pytest.raises(Failure) as failure:
        connecting.found("/nowhere")
    assert "cause: cannot use kubeconfig /nowhere" in "\n".join(failure.value.lines())


def of_tls() -> errors.Unreachable:
    error = errors.Unreachable("GET https://c: certificate expired")
    error.__cause__ = ssl.SSLError(1, "certificate expired")
    return error


def too_late() -> errors.Unreachable:
    error = errors.Unreachable("GET https://c: timed out")
    error.__cause__ = TimeoutError()
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.Unauthorized("Unauthorized", code=401), ExitCode.NO_RIGHTS),
        (errors.Forbidden("jobs is forbidden", code=403), ExitCode.NO_RIGHTS),
        (of_tls(), ExitCode.NO_RIGHTS),
        (errors.NotFound('jobs "a" not found', code=404), ExitCode.NOT_FOUND),
        (errors.Unreachable("GET https://c: refused"), ExitCode.ERROR),
        (too_late(), ExitCode.TIMEOUT),
        (errors.Invalid("spec.a: Invalid value", code=422), ExitCode.ERROR),
    ],
    ids=str,
)
def test_an_error_of_the_api_becomes_message_cause_and_exit_code(error: errors.ApiError, code: ExitCode) -> None:
    async def fail(_: object) -> None:
        raise error

    with pytest.raises(Failure) as failure:
        Target(Connection("http://c:1"), "default").talk(fail)
    assert failure.value.exit_code == code
    assert failure.value.lines()[1] == f"cause: {error.message}"


def certificate(born: datetime) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "me")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(1)
    dated = builder.not_valid_before(born).not_valid_after(born + timedelta(days=365)).public_key(key.public_key())
    return dated.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@pytest.mark.parametrize(
    ("of_client", "code", "what"),
    [
        (
            certificate(datetime(2020, 1, 1, tzinfo=UTC)),
            ExitCode.NO_RIGHTS,
            "Your certificate for this cluster has expired.",
        ),
        (certificate(datetime.now(UTC)), ExitCode.ERROR, "The cluster does not answer."),
        (b"nonsense", ExitCode.ERROR, "The cluster does not answer."),
        (b"", ExitCode.ERROR, "The cluster does not answer."),
    ],
    ids=["expired", "good", "unreadable", "none"],
)
def test_an_expired_certificate_is_named_where_the_connection_is_closed(
    of_client: bytes, code: ExitCode, what: str
) -> None:
    failure = explained(errors.Unreachable("GET https://c: closed"), Connection("https://c", certificate=of_client))
    assert (failure.exit_code, failure.lines()[0]) == (code, f"error: {what}")


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("", 60.0), ("300", 300.0), ("0.5", 0.5), ("0", None), ("-1", None), ("nan", None), ("1m", None)],
)
def test_the_time_out_of_requests_is_chosen_by_a_variable(
    monkeypatch: pytest.MonkeyPatch, given: str, seconds: float | None
) -> None:
    monkeypatch.setenv("TIDE_REQUEST_TIMEOUT", given)
    if seconds is not None:
        assert connecting.request_timeout() == seconds
        return
    with pytest.raises(Failure, match=f"TIDE_REQUEST_TIMEOUT={given} is no number of seconds") as failure:
        connecting.request_timeout()
    assert failure.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize(
    ("words", "namespace"),
    [([], "team"), (["-n", "mine"], "mine"), (["-A"], ""), (["-A", "-n", "mine"], "")],
)
def test_the_namespace_is_the_context_s_or_the_given_one_or_all(home: Path, words: list[str], namespace: str) -> None:
    @click.command()
    @on_cluster(all_namespaces=True)
    def command(target: Target) -> None:
        click.echo(f"<{target.namespace}>")

    file = kubeconfig(home / "mine")
    result = CliRunner().invoke(command, ["--kubeconfig", str(file), *words])
    assert result.output == f"<{namespace}>\n"


def test_errors_are_shown_in_the_user_s_language(home: Path) -> None:
    @click.command()
    @on_cluster()
    def command(_: Target) -> None: ...

    result = CliRunner().invoke(command, [], env={"LANG": "zh_CN.UTF-8", "LC_ALL": "", "HOME": str(home)})
    assert result.output.splitlines()[0] == "错误：没有可用的集群。"
    assert result.exit_code == 1
