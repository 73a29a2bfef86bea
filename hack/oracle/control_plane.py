# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes control plane on loopback, built from package registries alone: the judge of the embedded one.

    python hack/oracle/control_plane.py build            the binaries, once per version, cached outside the checkout
    python hack/oracle/control_plane.py run -- COMMAND   COMMAND with a running control plane, stopped afterwards
    python hack/oracle/control_plane.py --bare run -- COMMAND    the same without controllers and scheduler, so that
                                                         nothing but the caller writes

COMMAND sees SPRINGTIDE_ORACLE_KUBECONFIG, SPRINGTIDE_ORACLE_SERVER, SPRINGTIDE_ORACLE_TOKEN and SPRINGTIDE_TOOLS (the
directory with kubectl, kubectl-old, kwok and helm). The first build takes about six minutes on two cores and needs Go;
a start takes five seconds. Nothing is skipped: what is missing is an error that says how to get it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

HERE = Path(__file__).parent
KUBERNETES = "v1.36.3"
OLD_KUBECTL = "v1.32.4"  # users have older clients too
KWOK = "v0.8.0"
HELM = "v3.22.0"
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl")
TOKEN = "oracle-admin"

AUTHENTICATION = """\
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous: {enabled: true, conditions: [{path: /livez}, {path: /readyz}, {path: /healthz}, {path: /version}]}
"""

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: oracle, cluster: {{server: "{server}", insecure-skip-tls-verify: true}}}}]
users: [{{name: admin, user: {{token: {token}}}}}]
contexts: [{{name: oracle, context: {{cluster: oracle, user: admin}}}}]
current-context: oracle
"""


def cache() -> Path:
    base = os.environ.get("SPRINGTIDE_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "springtide"
    )
    return Path(base) / "oracle" / KUBERNETES


def build() -> Path:
    """All programs, in the cache; those that are there already are not built again."""
    target = cache()
    target.mkdir(parents=True, exist_ok=True)
    _need("go", "install Go 1.26 or newer")
    _need("etcd", "install Debian's etcd-server")
    for program in PROGRAMS:
        _build(target / program, KUBERNETES, f"k8s.io/kubernetes/cmd/{program}", HERE)
    _build(target / "kubectl-old", OLD_KUBECTL, "./kubectl", HERE / "old")
    _install(target, "kwok", f"sigs.k8s.io/kwok/cmd/kwok@{KWOK}")
    _install(target, "helm", f"helm.sh/helm/v3/cmd/helm@{HELM}")
    return target


def _need(program: str, how: str) -> None:
    if shutil.which(program) is None:
        sys.exit(f"{program} is not on PATH: {how}")


def _build(target: Path, version: str, package: str, directory: Path) -> None:
    if target.exists():
        return
    print(f"building {target.name} ...", flush=True)
    major, minor, _ = version.removeprefix("v").split(".")
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    flags = "-s -w " + " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in values.items())
    partial = target.with_suffix(".partial")
    command = ["go", "build", "-trimpath", "-ldflags", flags, "-o", str(partial), package]
    subprocess.run(command, cwd=directory, check=True)
    partial.rename(target)


def _install(target: Path, program: str, package: str) -> None:
    if (target / program).exists():
        return
    print(f"building {program} ...", flush=True)
    with tempfile.TemporaryDirectory(dir=target) as scratch:
        subprocess.run(["go", "install", package], env={**os.environ, "GOBIN": scratch}, check=True)
        (Path(scratch) / program).rename(target / program)


@contextmanager
def running(tools: Path, *, bare: bool = False) -> Iterator[dict[str, str]]:
    """A control plane on free ports; yields the environment that leads to it. Bare: the API server alone."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="oracle-")))
        server, etcd = f"https://127.0.0.1:{_free_port()}", f"http://127.0.0.1:{_free_port()}"
        _prepare(home, server)
        _start(stack, home, "etcd", _etcd_options(home, etcd))
        _start(stack, home, tools / "kube-apiserver", _apiserver_options(home, server, etcd))
        _wait_ready(server, home)
        if not bare:
            _start(stack, home, tools / "kube-controller-manager", _controller_options(home))
            _start(stack, home, tools / "kube-scheduler", _common_options(home))
        yield {
            "SPRINGTIDE_ORACLE_KUBECONFIG": str(home / "kubeconfig"),
            "SPRINGTIDE_ORACLE_SERVER": server,
            "SPRINGTIDE_ORACLE_TOKEN": TOKEN,
            "SPRINGTIDE_TOOLS": str(tools),
        }


Options = dict[str, object]
"""Long option to value."""


def _prepare(home: Path, server: str) -> None:
    subprocess.run(["openssl", "genrsa", "-out", home / "sa.key", "2048"], check=True, stderr=subprocess.DEVNULL)
    (home / "authentication.yaml").write_text(AUTHENTICATION)
    (home / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\noracle-jane,jane,jane,"devs"\n')
    (home / "kubeconfig").write_text(KUBECONFIG.format(server=server, token=TOKEN))


def _etcd_options(home: Path, client: str) -> Options:
    peer = f"http://127.0.0.1:{_free_port()}"
    return {
        "data-dir": home / "etcd",
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
    }


def _apiserver_options(home: Path, server: str, etcd: str) -> Options:
    return {
        "etcd-servers": etcd,
        "cert-dir": home / "certs",
        "secure-port": server.rpartition(":")[2],
        "bind-address": "127.0.0.1",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": home / "sa.key",
        "service-account-signing-key-file": home / "sa.key",
        "service-cluster-ip-range": "10.96.0.0/16",
        "authorization-mode": "Node,RBAC",
        "token-auth-file": home / "tokens.csv",
        "authentication-config": home / "authentication.yaml",
        "allow-privileged": "true",
    }


def _common_options(home: Path) -> Options:
    return {
        "kubeconfig": home / "kubeconfig",
        "leader-elect": "false",
        "authentication-skip-lookup": "true",
        "secure-port": _free_port(),
    }


def _controller_options(home: Path) -> Options:
    more = {"service-account-private-key-file": home / "sa.key", "root-ca-file": home / "certs/apiserver.crt"}
    return _common_options(home) | more


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(stack: ExitStack, home: Path, program: str | Path, options: Options) -> None:
    command = [program, *(f"--{name}={value}" for name, value in options.items())]
    log = stack.enter_context((home / f"{Path(program).name}.log").open("wb"))
    process = subprocess.Popen(command, cwd=home, stdout=log, stderr=subprocess.STDOUT)

    def stop() -> None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    stack.callback(stop)


def _wait_ready(server: str, home: Path, seconds: float = 90) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # its certificate is minutes old and self-signed
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{server}/readyz", context=context, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    sys.exit("kube-apiserver did not get ready:\n" + (home / "kube-apiserver.log").read_text()[-3000:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bare", action="store_true", help="no controllers and no scheduler")
    parser.add_argument("action", choices=("build", "run"))
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    tools = build()
    if arguments.action == "build":
        print(tools)
        return 0
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    with running(tools, bare=arguments.bare) as environment:
        return subprocess.run(command, env={**os.environ, **environment}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
