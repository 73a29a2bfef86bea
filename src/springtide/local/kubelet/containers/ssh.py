# SPDX-License-Identifier: Apache-2.0
"""The /etc/ssh of containers that hold the keys of a job: `sshd` and `ssh HOST` work in them without an option.

    the keys     a volume by which pods log in to each other, found at its mount path
    passwd       the container's user has its home beside the keys, and may log in
    .sshd_config beside the keys: images for MPI have it there, for an sshd that is not run by root

All pods of a job share one key. It is their host key, too: its owner may log in to them anyway, and pod names are too
short-lived for known hosts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from springtide.local.kubelet.containers import etc_files
from springtide.local.kubelet.specs import ssh_keys
from springtide.local.runtime.contract import Mount

_PORTS = {ssh_keys.PRIVATE_KEY: 2222, ssh_keys.KEY_FILE: 22}
"""By the name of the private key in its secret: the port of sshd in the images of jobs that have such secrets."""
HOME = "/root"
_FILES = ("passwd", "shadow")


@dataclass(frozen=True, slots=True)
class Keys:
    """The paths of the keys in a container."""

    folder: str
    private: str
    port: int = _PORTS[ssh_keys.PRIVATE_KEY]

    @property
    def home(self) -> str:
        """The home that the keys are in; empty if they are elsewhere."""
        return os.path.dirname(self.folder) if os.path.basename(self.folder) == ".ssh" else ""


def keys_of(pod: Mapping[str, Any], container: Mapping[str, Any], private_key: Callable[[str], str]) -> Keys | None:
    """The keys from the first secret among a container's volumes that holds keys."""
    secrets = {volume["name"]: volume.get("secret") or {} for volume in pod["spec"].get("volumes") or ()}
    for mount in container.get("volumeMounts") or ():
        secret = secrets.get(mount["name"]) or {}
        private = private_key(secret.get("secretName") or "")
        path = ssh_keys.path(secret, private, mount.get("subPath") or ".")
        if path and not mount.get("subPathExpr"):
            folder = os.path.normpath(mount["mountPath"])
            return Keys(folder, f"{folder}/{path}", _PORTS[private])
    return None


def client(keys: Keys) -> str:
    """The client's configuration. Errors only: otherwise every connection would print that its host was added to the
    known hosts."""
    return (
        "Host *\n"
        f"    Port {keys.port}\n"
        f"    IdentityFile {_quoted(keys.private)}\n"
        "    StrictHostKeyChecking no\n"
        "    UserKnownHostsFile /dev/null\n"
        "    GlobalKnownHostsFile /dev/null\n"
        "    LogLevel ERROR\n"
    )


def server(keys: Keys, variables: Mapping[str, str]) -> str:
    """The server's configuration. It sets the environment's variables, above all PATH: launchers call bare names, which
    only the environment has. MaxStartups is high because a launcher of a thousand ranks connects to all at once.
    LogLevel is FATAL because every probe of the port would log an error."""
    return (
        f"Port {keys.port}\n"
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
    """No password matches. The host's file may have locked an account, for which sshd would reject keys as well."""
    return "".join(f"{name}:*:::::::\n" for name in dict.fromkeys(names))


def write(
    directory: Path, keys: Keys, variables: Mapping[str, str], own: etc_files.Account, is_root: bool = False
) -> list[Mount]:
    """Write the container's files; returns their mounts. `is_root`: all pods run as this user, which the name of root
    stands for, too."""
    host = Path("/etc/passwd").read_text(errors="surrogateescape")
    etc_files.write(directory / "ssh", {"ssh_config": client(keys), "sshd_config": server(keys, variables)})
    etc_files.write(directory, {"passwd": etc_files.passwd(host, own, is_root), "shadow": shadow(["root", own.name])})
    for folder in (directory, directory / "ssh"):
        folder.chmod(0o755)
    settings = directory / "ssh" / "sshd_config"
    at_home = [] if keys.home in ("", HOME) else [Mount(f"{keys.home}/.sshd_config", str(settings), read_only=True)]
    ours = [Mount(f"/etc/{name}", str(directory / name)) for name in _FILES]
    return [Mount("/etc/ssh", str(directory / "ssh"), read_only=True), *at_home, *ours]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
