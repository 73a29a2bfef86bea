# SPDX-License-Identifier: Apache-2.0
"""Facts about a node and its machine, fixed for the lifetime of its agent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from springtide.local.datadir import log_name

_BEHIND_RESOLVED = Path("/run/systemd/resolve/resolv.conf")


def _resolver() -> Path:
    """Where systemd-resolved runs, /etc/resolv.conf names only itself, at an address that no pod can reach."""
    return _BEHIND_RESOLVED if _BEHIND_RESOLVED.exists() else Path("/etc/resolv.conf")


def _kubeconfigs() -> tuple[Path, ...]:
    """The directories and files with this user's credentials for this cluster and others."""
    home = Path.home()
    share = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    named = (Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part)
    return (home / ".kube", share / "springtide" / "clusters", *named)


@dataclass(frozen=True, slots=True)
class Facts:
    node: str
    data_dir: Path
    isolation: str = "namespaces"
    """`namespaces`, or `none` where the system refuses them."""
    uid: int = field(default_factory=os.getuid)
    gid: int = field(default_factory=os.getgid)
    host_ip: str = "127.0.0.1"
    server: str = "https://127.0.0.1:6443"
    """The URL of the API server for processes on the host's network."""
    cluster_dns: str = "10.96.0.10"
    cluster_domain: str = "cluster.local"
    allocatable: Mapping[str, str] = field(default_factory=dict)
    """The node's allocatable resources: the default of limits that a container does not set."""
    resolver: Path = field(default_factory=_resolver)
    """The resolv.conf with the machine's own name servers."""
    kubeconfigs: tuple[Path, ...] = field(default_factory=_kubeconfigs)
    """Files and directories with credentials for this cluster and others, hidden from all containers."""

    @property
    def is_root(self) -> bool:
        return self.uid == 0

    @property
    def isolated(self) -> bool:
        return self.isolation != "none"

    def pod_directory(self, uid: str) -> Path:
        return self.data_dir / "pods" / uid

    def log_directory(self, namespace: str, name: str, uid: str) -> Path:
        return self.data_dir / "logs" / log_name(namespace, name, uid)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Paths of the host hidden from containers: the cluster's own files, sockets and keys, and other
        credentials."""
        paths = [str(path.absolute()) for path in (self.data_dir, *self.kubeconfigs)]
        return tuple(path for path in dict.fromkeys(paths) if not any(path.startswith(f"{other}/") for other in paths))

    @property
    def holder(self) -> Path:
        return self.data_dir / "network" / "holder.sock"

    @property
    def program_directory(self) -> Path:
        """The programs that every container has in its PATH."""
        return self.data_dir / "bin"

    @property
    def exec_directory(self) -> Path:
        """The exec sockets of all pods, not visible to pods, and a directory per pod with links to those it may use."""
        return self.data_dir / "exec"

    def shown_sockets(self, uid: str) -> Path:
        """The directory with the exec sockets of the pods in which a pod was allowed to run a command."""
        return self.exec_directory / uid
