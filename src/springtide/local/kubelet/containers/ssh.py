# SPDX-License-Identifier: Apache-2.0
"""The /etc/ssh of containers that hold the keys of a job: `sshd` and `ssh HOST` work in them without an option.

    the keys     a volume of a secret of type kubernetes.io/ssh-auth; where it is mounted tells where they are
    passwd       whoever the container runs as lives beside the keys, and may log in
    .sshd_config beside the keys: images for MPI have it there, for sshd that is not root's

All pods of a job have one key. It is the key of their hosts, too: who has it may enter them anyway, and the names of
pods are too short-lived for anything to be known about their hosts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from springtide.local.kubelet.containers import etc_files
from springtide.local.runtime.contract import Mount

PORT = 2222
PRIVATE_KEY = "ssh-privatekey"
"""What every secret of that type has."""
HOME = "/root"
_FILES = ("passwd", "shadow")


@dataclass(frozen=True, slots=True)
class Keys:
    """Where a container sees them."""

    folder: str
    private: str

    @property
    def home(self) -> str:
        return os.path.dirname(self.folder) if os.path.basename(self.folder) == ".ssh" else HOME


def keys_of(pod: Mapping[str, Any], container: Mapping[str, Any], holds_keys: Callable[[str], bool]) -> Keys | None:
    """The first secret among a container's volumes that holds keys."""
    secrets = {volume["name"]: volume.get("secret") or {} for volume in pod["spec"].get("volumes") or ()}
    for mount in container.get("volumeMounts") or ():
        secret = secrets.get(mount["name"]) or {}
        if holds_keys(secret.get("secretName") or "") and not (mount.get("subPath") or mount.get("subPathExpr")):
            folder = os.path.normpath(mount["mountPath"])
            paths = {item["key"]: item["path"] for item in secret.get("items") or ()}
            return Keys(folder, f"{folder}/{paths.get(PRIVATE_KEY, PRIVATE_KEY)}")
    return None


def client(keys: Keys) -> str:
    """Errors only: otherwise every connection is told of as a host that was added to those that are known."""
    return (
        "Host *\n"
        f"    Port {PORT}\n"
        f"    IdentityFile {_quoted(keys.private)}\n"
        "    StrictHostKeyChecking no\n"
        "    UserKnownHostsFile /dev/null\n"
        "    GlobalKnownHostsFile /dev/null\n"
        "    LogLevel ERROR\n"
    )


def server(keys: Keys, variables: Mapping[str, str]) -> str:
    """Those of the environment are set, PATH above all: launchers call bare names, which only the environment has. Many
    may come at once: a launcher that starts a thousand ranks asks for them all together. Of errors only the last one is
    told, for every probe of the port is an error."""
    return (
        f"Port {PORT}\n"
        f"HostKey {_quoted(keys.private)}\n"
        f"AuthorizedKeysFile {_quoted(f'{keys.folder}/authorized_keys')}\n"
        f"SetEnv {' '.join(_quoted(f'{name}={value}') for name, value in variables.items())}\n"
        "PermitRootLogin prohibit-password\n"
        "PasswordAuthentication no\n"
        "StrictModes no\n"
        "UsePAM no\n"
        "PidFile none\n"
        "PrintMotd no\n"
        "PrintLastLog no\n"
        "MaxStartups 1000\n"
        "LogLevel FATAL\n"
        "Subsystem sftp internal-sftp\n"
    )


def shadow(names: list[str]) -> str:
    """No password fits. The host's file may have locked an account, which sshd takes as closed to keys as well."""
    return "".join(f"{name}:*:::::::\n" for name in dict.fromkeys(names))


def write(directory: Path, keys: Keys, variables: Mapping[str, str], own: etc_files.Account) -> list[Mount]:
    """The container's files, and where it sees them."""
    host = Path("/etc/passwd").read_text(errors="surrogateescape")
    etc_files.write(directory / "ssh", {"ssh_config": client(keys), "sshd_config": server(keys, variables)})
    etc_files.write(directory, {"passwd": etc_files.passwd(host, own), "shadow": shadow(["root", own.name])})
    for folder in (directory, directory / "ssh"):
        folder.chmod(0o755)
    settings = directory / "ssh" / "sshd_config"
    at_home = [] if keys.home == HOME else [Mount(f"{keys.home}/.sshd_config", str(settings), read_only=True)]
    ours = [Mount(f"/etc/{name}", str(directory / name)) for name in _FILES]
    return [Mount("/etc/ssh", str(directory / "ssh"), read_only=True), *at_home, *ours]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
