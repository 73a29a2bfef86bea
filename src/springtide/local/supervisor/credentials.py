# SPDX-License-Identifier: Apache-2.0
"""The credentials of the supervisor's children: a kubeconfig for each, and certificates for node agents.

Stored in `nodes/NAME` and `operator` of the data directory, readable by their owner alone; recreated when they are
missing or about to expire.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from springtide.local.access import kubeconfig, pki
from springtide.local.access.files import write_private
from springtide.local.datadir import LOOPBACK, DataDir


@dataclass(frozen=True, slots=True)
class Credentials:
    kubeconfig: Path
    pair: Path
    """Certificate and key in one file."""
    client_ca: Path

    def arguments(self) -> list[str]:
        """As command-line arguments of the node agent."""
        files = {"kubeconfig": self.kubeconfig, "certificate": self.pair, "key": self.pair, "client-ca": self.client_ca}
        return [part for name, path in files.items() for part in (f"--{name}", str(path))]


def make(directory: DataDir, node: str, server: str) -> Credentials:
    authority = pki.Authority(directory.pki, datetime.now(UTC))
    pair = pki.node_pair(authority, node, (LOOPBACK,))
    place = directory.nodes / node
    made = Credentials(place / "kubeconfig", place / "serving.pem", place / "ca.pem")
    entry = kubeconfig.Entry(node, server, authority.certificate, pair, role="agent")
    _write(made.kubeconfig, kubeconfig.as_text(entry).encode())
    _write(made.pair, pair.key + pair.certificate)
    _write(made.client_ca, authority.certificate)
    return made


def make_operator_s(directory: DataDir, server: str) -> Path:
    """The operator's kubeconfig."""
    authority = pki.Authority(directory.pki, datetime.now(UTC))
    entry = kubeconfig.Entry("springtide", server, authority.certificate, pki.operator_pair(authority), role="operator")
    path = directory.operator / "kubeconfig"
    _write(path, kubeconfig.as_text(entry).encode())
    return path


def _write(path: Path, content: bytes) -> None:
    """Writes only a changed file: durable writes are slow."""
    if not path.exists() or path.read_bytes() != content:
        write_private(path, content)
