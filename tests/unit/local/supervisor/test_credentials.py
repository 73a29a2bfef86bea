# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import stat
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from springtide.kube import kubeconfig
from springtide.local.datadir import DataDir
from springtide.local.supervisor import credentials

URL = "https://127.0.0.1:6443"


def test_an_agent_is_its_node_and_nobody_else(tmp_path: Path) -> None:
    made = credentials.make(DataDir(tmp_path), "gpu-a", URL)
    choice = kubeconfig.read(str(made.kubeconfig)).choose()
    shown = x509.load_pem_x509_certificate(kubeconfig.content(choice.user, "client-certificate"))
    names = {attribute.oid: attribute.value for attribute in shown.subject}
    assert names == {NameOID.COMMON_NAME: "system:node:gpu-a", NameOID.ORGANIZATION_NAME: "system:nodes"}
    assert choice.cluster["server"] == URL
    serving = x509.load_pem_x509_certificate(made.pair.read_bytes())
    hosts = serving.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert hosts.get_values_for_type(x509.DNSName) == ["gpu-a"]
    assert [str(address) for address in hosts.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_they_are_private_and_stay_the_same(tmp_path: Path) -> None:
    made = credentials.make(DataDir(tmp_path), "a", URL)
    files = (made.kubeconfig, made.pair, made.client_ca)
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in files]
    assert credentials.make(DataDir(tmp_path), "a", URL) == made
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in files] == before
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)


def test_a_server_on_another_port_is_found(tmp_path: Path) -> None:
    credentials.make(DataDir(tmp_path), "a", URL)
    made = credentials.make(DataDir(tmp_path), "a", "https://127.0.0.1:7443")
    assert kubeconfig.read(str(made.kubeconfig)).choose().cluster["server"] == "https://127.0.0.1:7443"
